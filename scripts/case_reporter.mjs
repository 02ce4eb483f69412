// A reporter for node --test: one line of JSON for each test case, for run_tests.py. Suites are not cases.
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

// Node 18 gives a URL, later ones a path.
const place = (file) => relative('', file.startsWith('file:') ? fileURLToPath(file) : file);

export default async function* cases(events) {
  for await (const { type, data } of events) {
    const ended = type === 'test:pass' || type === 'test:fail';
    if (!ended || data.details?.type === 'suite') continue;
    const left = data.skip !== undefined || data.todo !== undefined;
    const verdict = left ? 'skipped' : type === 'test:pass' ? 'passed' : 'failed';
    const file = data.file === undefined ? '' : `${place(data.file)}: `;
    yield `${JSON.stringify({ verdict, name: `${file}${data.name}` })}\n`;
  }
}

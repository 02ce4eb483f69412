// The documents tell the truth: their shell examples are run against a daemon, in order, and print what is shown below
// them; the client in docs/events.md keeps a mirror over restarts.
//
// In what is shown, `…` stands for anything within its line and a line `…` for any number of lines; a number of ten
// digits or more is any such number. A last line `…` says that more may come: the example is stopped once what is above
// it has come. A comment `<!-- daemon: {…} -->` before an example gives it a daemon of its own, configured so.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';

import { Daemon, startDaemon } from './harness.mjs';
import { binary, environment, eventually, makeFolder, removeFolder, repository, within } from './processes.mjs';
import { workflows } from './workflows.mjs';

const read = (document) => readFileSync(join(repository, document), 'utf8');

// The shell examples of a document: {line, script, shown, config}; what is shown is the block without a language below.
function examples(document) {
  const text = read(document);
  const fence = /(?:<!-- daemon: (?<config>.*) -->\n)?```sh\n(?<script>.*?)```\n(?:\n```\n(?<shown>.*?)```\n)?/gs;
  return [...text.matchAll(fence)].map(({ index, groups }) => ({
    line: text.slice(0, index).split('\n').length, ...groups, config: JSON.parse(groups.config ?? 'null'),
  }));
}

// The expression that what an example prints is held to, from its beginning.
function pattern(shown) {
  const lines = shown.replace(/\n$/, '').split('\n').map((line) => {
    if (line === '…') return '(?:.*\n)*?';
    return `${line.split(/(…|\d{10,})/).map((part) => {
      if (part === '…') return '.*?';
      return /^\d{10,}$/.test(part) ? '\\d{10,}' : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    }).join('')}\n`;
  });
  return new RegExp(`^${lines.join('')}`);
}

// A daemon with the defaults, as the documents have it: the rules of the scripted model are the built-in ones.
async function plainDaemon(t, config) {
  const daemon = new Daemon({ config });
  t.after(() => daemon.dispose());
  daemon.config.agent = {};
  return daemon.start();
}

// Runs an example until it has printed what is shown, or to its end when there is no line `…` at the end of that.
async function runExample(daemon, { script, shown = '…\n' }, ms = 20_000) {
  const folder = makeFolder();
  symlinkSync(resolve(binary), join(folder, 'agentd'));
  const child = spawn('bash', ['-eu', '-o', 'pipefail', '-c', script.replaceAll('http://127.0.0.1:8420', daemon.url)], {
    cwd: folder, detached: true, stdio: ['ignore', 'pipe', 'pipe'],
    env: environment(folder, { PATH: `${folder}${delimiter}${process.env.PATH}`, AGENTD_URL: daemon.url }),
  });
  const expected = pattern(shown);
  const open = shown.endsWith('…\n');
  let printed = '';
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text) => { errors += text; });
  try {
    await within(ms, 'what is shown', new Promise((done, reject) => {
      child.stdout.setEncoding('utf8').on('data', (text) => {
        printed += text;
        if (open && expected.test(printed)) done();
      });
      child.once('error', reject);
      child.once('close', (code) => (code === 0 ? done() : reject(new Error(`exit status ${code}`))));
    }));
    const whole = printed.endsWith('\n') ? printed : `${printed}\n`;
    assert.match(whole, open ? expected : new RegExp(`${expected.source}$`));
    assert.doesNotMatch(printed, /^$|"error":/);
  } catch (error) {
    throw new Error(`${script}--- shown\n${shown}--- printed\n${printed}--- errors\n${errors}`, { cause: error });
  } finally {
    try { process.kill(-child.pid, 'SIGKILL'); } catch { /* all that it started has ended */ }
    removeFolder(folder);
  }
}

const documents = { 'docs/events.md': /^/, 'docs/extensions/command.md': /^curl/, 'README.md': /^curl/ };
for (const [document, wanted] of Object.entries(documents)) {
  test(`the examples of ${document} print what it shows`, { timeout: 120_000 }, async (t) => {
    const daemon = await plainDaemon(t);
    const chosen = examples(document).filter(({ script }) => wanted.test(script));
    assert.ok(chosen.length > 0);
    for (const example of chosen) {
      await t.test(`line ${example.line}`, async (t2) => {
        await runExample(example.config ? await plainDaemon(t2, example.config) : daemon, example);
      });
    }
  });
}

// The client of docs/events.md as a program that says after each turn what it holds: `turns`, oldest first.
function startClient(t, folder, url) {
  writeFileSync(join(folder, 'follow.mjs'), /```js\n(.*?)```\n/s.exec(read('docs/events.md'))[1]);
  writeFileSync(join(folder, 'say.mjs'), `
    import { follow } from './follow.mjs';
    for await (const { mirror, event } of follow(process.argv[2])) {
      console.log(JSON.stringify({ anew: event === undefined, holds: [...mirror].sort() }));
    }`);
  const child = spawn(process.execPath, [join(folder, 'say.mjs'), url], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  const client = { turns: [], get holds() { return this.turns.at(-1)?.holds; } };
  createInterface({ input: child.stdout }).on('line', (line) => client.turns.push(JSON.parse(line)));
  return client;
}

test('the client of docs/events.md holds what a fresh one holds, after departures, goodbyes, restarts', async (t) => {
  const folder = makeFolder();
  t.after(() => removeFolder(folder));
  const daemon = await startDaemon(t, { config: {
    a2a: { events: { deadline: '500ms' } }, workflows: [workflows.pair],
    store: { retention: { tasks: { keep_last: 4 }, conversations: { keep_last: 3 }, runs: { keep_last: 2 } } },
  } });
  daemon.config.a2a.listen = daemon.url;  // so that the next life is found where this one is
  const work = async () => {
    for (let i = 0; i < 3; ++i) {
      await daemon.send('hello');
      await daemon.command('workflow.run', { workflow: 'pair' });
    }
  };
  const agrees = async (client) => {
    const fresh = startClient(t, folder, daemon.url);
    await eventually('a fresh client', () => fresh.turns.length > 0);
    await eventually('the same in both', () => isDeepStrictEqual(client.holds, fresh.holds))
      .catch(() => assert.deepEqual(client.holds, fresh.holds));
    const kinds = client.holds.map(([key]) => key.split(' ')[0]);
    for (const [kind, count] of [['task', 4], ['conversation', 3], ['run', 2]]) {
      assert.equal(kinds.filter((one) => one === kind).length, count, `${kind}: as many as are kept`);
    }
  };
  const readAnew = (client) => client.turns.filter(({ anew }) => anew).length;

  await work();
  const client = startClient(t, folder, daemon.url);
  await eventually('its first reading', () => client.turns.length > 0);
  await work();
  await agrees(client);
  assert.equal(readAnew(client), 1, 'one life of the daemon is read once, whatever goodbyes there are');
  for (const kill of [true, false]) {
    await daemon.restart({ kill });
    await work();
    await agrees(client);
  }
  assert.equal(readAnew(client), 3);
});

// The whole soak: node tests/soak/main.mjs [--messages 20000] [--rounds 4] ... The options are those of soak.mjs.
import { parseArgs } from 'node:util';

import { soak, whole } from './soak.mjs';

const options = Object.fromEntries(Object.keys(whole).map((name) => [name, { type: 'string' }]));
const { values } = parseArgs({ options });
const asked = Object.entries(values).map(([name, text]) => [name, typeof whole[name] === 'number' ? Number(text) : text]);
const begun = Date.now();

try {
  await soak({ ...whole, ...Object.fromEntries(asked) }, console.log);
  console.log(`the soak held, ${Math.round((Date.now() - begun) / 1000)} s`);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}

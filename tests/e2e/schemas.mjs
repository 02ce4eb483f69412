// The published schemas, as the binary prints them, compiled by an independent validator (ajv).
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';

import Ajv2020 from 'ajv/dist/2020.js';

import { binary } from './processes.mjs';

export const makeAjv = () => new Ajv2020({
  strict: true, strictTypes: false, strictRequired: false, allErrors: true,
  formats: {
    'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/,
    uri: (text) => URL.canParse(text),
  },
});

const printed = new Map();

// The text that `agentd --extension-schema <name>` prints.
export function printedBundle(name) {
  if (!printed.has(name)) {
    printed.set(name, execFileSync(binary, ['--extension-schema', name], { encoding: 'utf8', timeout: 10_000 }));
  }
  return printed.get(name);
}

export const bundle = (name) => JSON.parse(printedBundle(name));

const compiled = new Map();

// A validator of a bundle's root, or of what `pointer` (e.g. "/$defs/params") names in it.
export function validator(name, pointer = '') {
  const key = `${name}#${pointer}`;
  if (!compiled.has(key)) {
    const schema = bundle(name);
    const id = schema.$id ?? `https://bundle.test/${name}`;
    const ajv = makeAjv();
    ajv.addSchema({ ...schema, $id: id });
    compiled.set(key, ajv.compile({ $ref: `${id}#${pointer}` }));
  }
  return compiled.get(key);
}

export function assertValid(validate, value) {
  assert.ok(validate(value), `${JSON.stringify(validate.errors?.slice(0, 5))} in ${JSON.stringify(value)}`);
}

export const assertFrame = (frame) => assertValid(validator('events'), frame);

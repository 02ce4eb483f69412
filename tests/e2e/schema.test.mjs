// The published schemas: printed, served and committed alike, and held by an independent validator (events.md 11).
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { ANNOTATIONS, COMMAND, EVENTS, KINDS } from './contract.mjs';
import { commandMessage, request, startDaemon } from './harness.mjs';
import { repository } from './processes.mjs';
import { assertValid, bundle, makeAjv, printedBundle, validator } from './schemas.mjs';
import { workflows } from './workflows.mjs';

const names = { events: EVENTS, command: COMMAND, 'task-annotations': ANNOTATIONS };
const isFrame = validator('events');

function golden() {
  const folder = join(repository, 'schema/events/examples');
  return readdirSync(folder).filter((name) => name.endsWith('.json')).sort().map((name) => {
    const text = readFileSync(join(folder, name), 'utf8').trim();
    return [name, text];
  });
}

const frames = () => golden().map(([name, text]) => [name, JSON.parse(text)]);

test('each bundle is the same as printed, as served and as committed', async (t) => {
  const daemon = await startDaemon(t);
  for (const name of Object.keys(names)) {
    const text = printedBundle(name);
    assert.equal(bundle(name).$schema, 'https://json-schema.org/draft/2020-12/schema');
    const served = await request(`${daemon.url}/a2a/ext/${name}/schema.json`);
    assert.equal(served.status, 200);
    assert.equal(served.text.trim(), text.trim(), `${name}: served`);
    const committed = readFileSync(join(repository, 'schema', name, 'schema.json'), 'utf8');
    assert.equal(committed, text, `${name}: committed`);
    assert.equal((await request(`${daemon.url}/a2a/ext/${name}`)).status, 200, `${name}: its page`);
  }
});

test('the parts of the events bundle have the names of the contract', () => {
  const { $defs } = bundle('events');
  for (const part of ['params', 'hello', 'event', 'goodbye', 'kinds']) assert.ok($defs[part], part);
  assert.deepEqual(Object.keys($defs.kinds.$defs), [...KINDS.keys()], 'the 18 kinds in table order');
  for (const [kind, schema] of Object.entries($defs.kinds.$defs)) {
    assert.equal(JSON.stringify(schema).includes('"$ref"'), false, `${kind} is self-contained`);
    makeAjv().compile(schema);
  }
  const isParams = validator('events', '/$defs/params');
  for (const good of [{}, { fromSeq: 0 }, { fromSeq: 7 }]) assertValid(isParams, good);
  for (const bad of [{ fromSeq: -1 }, { fromSeq: 1.5 }, { fromSeq: '3' }, { fromSeq: null }, { from: 1 }, []]) {
    assert.equal(isParams(bad), false, JSON.stringify(bad));
  }
});

test('there is a golden frame for each frame and kind, every optional member among them', () => {
  const all = frames();
  for (const [name, frame] of all) {
    assert.ok(isFrame(frame), `${name}: ${JSON.stringify(isFrame.errors?.slice(0, 3))}`);
  }
  for (const [, text] of golden()) assert.equal(text.includes('\n'), false, 'a frame is one line');
  const values = all.map(([, frame]) => frame);
  assert.ok(values.some(({ hello }) => hello));
  assert.deepEqual([...new Set(values.flatMap(({ goodbye }) => goodbye?.reason ?? []))].sort(), ['deadline', 'revoked']);
  for (const [kind, { required, optional }] of KINDS) {
    const datas = values.filter(({ event }) => event?.kind === kind).map(({ event }) => event.data);
    assert.ok(datas.length > 0, `a frame of ${kind}`);
    const members = new Set(datas.flatMap(Object.keys));
    assert.deepEqual([...members].sort(), [...required, ...optional].sort(), `members of ${kind}`);
  }
});

// Everything one step away from a frame that is no frame any more.
function* nearMisses(frame) {
  const [outer] = Object.keys(frame);
  const change = (edit) => { const copy = structuredClone(frame); edit(copy); return copy; };
  yield ['no member', {}];
  yield ['two frames in one', change((copy) => { copy[outer === 'hello' ? 'goodbye' : 'hello'] = {}; })];
  yield ['an extra member outside', change((copy) => { copy.extra = 1; })];
  yield ['an extra member', change((copy) => { copy[outer].extra = 1; })];
  for (const member of Object.keys(frame[outer])) {
    yield [`no ${member}`, change((copy) => { delete copy[outer][member]; })];
    const wrong = typeof frame[outer][member] === 'string' ? 7 : 'seven';
    yield [`${member} of another type`, change((copy) => { copy[outer][member] = wrong; })];
  }
  if (outer !== 'event') return;
  const { kind, data } = frame.event;
  yield ['a kind outside the vocabulary', change((copy) => { copy.event.kind = 'other'; })];
  yield ['a fractional seq', change((copy) => { copy.event.seq += 0.5; })];
  yield ['a negative seq', change((copy) => { copy.event.seq = -1; })];
  yield ['an extra member in data', change((copy) => { copy.event.data.extra = 1; })];
  for (const member of KINDS.get(kind).required) {
    yield [`no data.${member}`, change((copy) => { delete copy.event.data[member]; })];
    if (['output', 'target'].includes(member)) continue;  // any value
    // An array is right where an object or a list of strings is not, and the other way round.
    const wrong = Array.isArray(data[member]) ? { a: 1 } : [[1]];
    yield [`data.${member} of another type`, change((copy) => { copy.event.data[member] = wrong; })];
  }
}

test('near-misses of every golden frame are refused', () => {
  let tried = 0;
  for (const [name, frame] of frames()) {
    for (const [what, miss] of nearMisses(frame)) {
      assert.equal(isFrame(miss), false, `${name} with ${what}: ${JSON.stringify(miss)}`);
      tried += 1;
    }
  }
  assert.ok(tried > 200, `${tried} tried`);
});

test('every frame of a live daemon is valid', async (t) => {
  const daemon = await startDaemon(t, { config: { workflows: Object.values(workflows) } });
  const feed = await daemon.feed();  // holds each frame to the bundle
  for (const text of ['hello', 'pieces', 'direct', 'ask']) await daemon.send(text);
  for (const workflow of ['pair', 'broken', 'late', 'third']) await daemon.command('workflow.run', { workflow });
  const { id } = await daemon.sendTask('hello');
  await feed.untilDone(id);
  const kinds = new Set(feed.events.map(({ kind }) => kind));
  feed.close();
  for (const kind of ['task', 'run', 'step', 'conversation', 'child', 'child.removed', 'activity', 'activity.removed',
    'status']) assert.ok(kinds.has(kind), kind);
});

test('the command bundle holds the envelopes that are sent and the documents that come back', async (t) => {
  const daemon = await startDaemon(t);
  const isData = validator('command');
  const { $defs } = bundle('command');
  assert.deepEqual(Object.keys($defs.envelopes.$defs).sort(), Object.keys($defs.ops).sort());
  for (const op of Object.values($defs.ops)) {
    assert.deepEqual(Object.keys(op).sort(), ['args', 'description', 'reply', 'result']);
  }
  const dataOf = (message) => message.parts[0].data;
  assertValid(isData, dataOf(commandMessage('status')));
  assertValid(isData, dataOf(commandMessage('workflow.run', { workflow: 'pair' })));
  assertValid(isData, dataOf(commandMessage('an.op.of.a.workflow', { any: 1 })));
  for (const bad of [commandMessage('status', { extra: 1 }), commandMessage('workflow.run'),
    commandMessage('workflow.run', { workflow: 7 })]) assert.equal(isData(dataOf(bad)), false);
  const { message } = await daemon.command('status');
  const isResult = makeAjv().compile($defs.ops.status.result);
  assertValid(isResult, dataOf(message));
});

test('the annotations of a live task are valid, and closed', async (t) => {
  const daemon = await startDaemon(t);
  const task = await daemon.sendTask('hello', { extensions: [ANNOTATIONS] });
  const isAnnotations = validator('task-annotations');
  const value = task.metadata[ANNOTATIONS];
  assertValid(isAnnotations, value);
  for (const bad of [{ ...value, extra: 1 }, { ...value, link: { kind: 'turn' } }, { ...value, created: 'now' },
    { ...value, statusHistory: undefined }]) {
    assert.equal(isAnnotations(JSON.parse(JSON.stringify(bad))), false, JSON.stringify(bad));
  }
});

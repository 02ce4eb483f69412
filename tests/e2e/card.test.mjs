// The agent card: who serves here, by which bindings, with which extensions.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { cardSchema } from './card_schema.mjs';
import { ANNOTATIONS, COMMAND, EVENTS, SUBSCRIBE, kindsFor } from './contract.mjs';
import { request, startDaemon, twoUsers } from './harness.mjs';
import { assertRefused } from './refusals.mjs';
import { assertValid, makeAjv } from './schemas.mjs';

const { tokens, options } = twoUsers({ a2a: { events: { ring: 77 } } });
const daemon = await startDaemon(undefined, options);
const isCard = makeAjv().compile(cardSchema);

const getCard = (headers = {}, url = daemon.url) => request(`${url}/.well-known/agent-card.json`, { headers });
const extension = (card, uri) => card.capabilities.extensions.find((entry) => entry.uri === uri);
const extendedCard = (token) => daemon.call('GetExtendedAgentCard', undefined, { token });

test('the public card needs no credential and has exactly the members of A2A 1.0', async () => {
  const answer = await getCard();
  assert.equal(answer.status, 200);
  assert.match(answer.headers['content-type'], /^application\/(a2a\+)?json/);
  const card = answer.json();
  assertValid(isCard, card);
  assert.equal(card.name, 'tested');
  assert.equal(card.capabilities.streaming, true);
  assert.equal(card.capabilities.extendedAgentCard, true);
  assert.ok(!card.capabilities.pushNotifications, 'not declared before it works');
});

test('the first interface is JSON-RPC 1.0 at an address that answers', async () => {
  const [first] = (await getCard()).json().supportedInterfaces;
  assert.equal(first.protocolBinding, 'JSONRPC');
  assert.equal(first.protocolVersion, '1.0');
  const answer = await request(first.url, {
    method: 'POST', headers: daemon.headers({ token: tokens.alice }), body: daemon.envelope('ListTasks', {}),
  });
  assert.ok(answer.json().result, answer.text);
});

test('the card is cacheable and answers 304 to its own ETag', async () => {
  const { headers } = await getCard();
  assert.match(headers['cache-control'], /max-age=\d+/);
  assert.match(headers.etag, /^(W\/)?"[^"]+"$/);
  const again = await getCard({ 'if-none-match': headers.etag });
  assert.deepEqual([again.status, again.text, again.headers.etag], [304, '', headers.etag]);
  assert.equal((await getCard({ 'if-none-match': '"another"' })).status, 200);
});

test('the public card declares three extensions with their public params, none required', async () => {
  const card = (await getCard()).json();
  assert.deepEqual(card.capabilities.extensions.map((e) => e.uri).sort(), [COMMAND, EVENTS, ANNOTATIONS].sort());
  for (const entry of card.capabilities.extensions) {
    assert.ok(!entry.required, `${entry.uri} is not required`);
    assert.ok(entry.params.schema.endsWith(`${new URL(entry.uri).pathname}/schema.json`), entry.params.schema);
  }
  assert.deepEqual(Object.keys(extension(card, EVENTS).params).sort(), ['method', 'schema']);
  assert.equal(extension(card, EVENTS).params.method, SUBSCRIBE);
  assert.deepEqual(Object.keys(extension(card, ANNOTATIONS).params), ['schema']);
  const command = extension(card, COMMAND).params;
  assert.deepEqual(Object.keys(command).sort(), ['dataPartKey', 'ops', 'schema']);
  assert.equal(command.dataPartKey, 'agentd');
  const replies = new Map(command.ops.map(({ op, reply }) => [op, reply]));
  assert.equal(replies.get('status'), 'message');
  assert.equal(replies.get('workflow.run'), 'task');
  for (const entry of command.ops) assert.deepEqual(Object.keys(entry).sort(), ['op', 'reply']);
});

test('the extended card tells an operator the ring and all kinds that can reach it', async () => {
  const card = await extendedCard(tokens.operator);
  assertValid(isCard, card);
  const { params } = extension(card, EVENTS);
  assert.equal(params.ring, 77);
  assert.deepEqual(params.kinds, kindsFor('operator'));
  const command = extension(card, COMMAND).params;
  assert.deepEqual(Object.keys(command).sort(), ['dataPartKey', 'ops', 'schema', 'settable']);
  assert.deepEqual(command.settable, ['agent.approval', 'a2a.introspection.enabled']);
});

test('the extended card tells a user its own kinds, and no op that only operators run', async () => {
  const card = await extendedCard(tokens.alice);
  assertValid(isCard, card);
  const { params } = extension(card, EVENTS);
  assert.equal(params.ring, 77);
  assert.deepEqual(params.kinds, kindsFor('user'));
  const command = extension(card, COMMAND).params;
  assert.deepEqual(Object.keys(command).sort(), ['dataPartKey', 'ops', 'schema'], 'nothing that would be empty');
  const ops = command.ops.map(({ op }) => op);
  assert.ok(ops.includes('status') && ops.includes('workflow.run'), ops.join());
  assert.deepEqual(ops.filter((op) => op === 'config' || op.startsWith('admin.')), []);
});

test('the extended card is refused to nobody in particular', async () => {
  assertRefused(await daemon.rpc('GetExtendedAgentCard'), { http: 401, code: -31401, id: null });
});

test('an instance without events declares the others only', async (t) => {
  const quiet = await startDaemon(t, { config: { a2a: { events: { enabled: false } } } });
  const uris = (await getCard({}, quiet.url)).json().capabilities.extensions.map((e) => e.uri);
  assert.deepEqual(uris.sort(), [COMMAND, ANNOTATIONS].sort());
});

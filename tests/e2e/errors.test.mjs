// The order of the checks of the JSON-RPC endpoint, and what they let through. The refusals are in refusals.test.mjs.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { EVENTS, SUBSCRIBE } from './contract.mjs';
import { request, startDaemon, twoUsers, userMessage } from './harness.mjs';
import { assertRefused, detail } from './refusals.mjs';

const open = await startDaemon();  // no credential configured: the loopback caller is the operator
const { tokens, options } = twoUsers();
const closed = await startDaemon(undefined, options);

const envelope = (over) => JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'ListTasks', params: {}, ...over });
const big = envelope({ params: { pad: 'x'.repeat(2 * 1024 * 1024) } });
const nested = (depth) => envelope({ params: 'DEEP' }).replace('"DEEP"', `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`);

test('a content type is read as such: case and parameters do not matter', async () => {
  const answer = await open.post(envelope(), { headers: { 'content-type': 'Application/JSON; charset=utf-8' } });
  assert.ok(answer.body.result, answer.text);
});

test('nesting and size within the limits are no parse error', async () => {
  assert.ok((await open.post(nested(127))).body.result);
  const { status } = await open.rpc('SendMessage', { message: userMessage('x'.repeat(2 * 1024 * 1024 - 4096)) });
  assert.equal(status, 200);
});

test('ids come back exactly as they were sent', async () => {
  for (const id of ['0', '-3', '"seven"', '""', '"\\u00e9"', '9007199254740993']) {
    const answer = await open.post(`{"jsonrpc":"2.0","id":${id},"method":"ListTasks","params":{}}`);
    const sent = id.startsWith('"') ? JSON.stringify(JSON.parse(id)) : id;
    assert.ok(answer.text.includes(`"id":${sent}`), `${id} in ${answer.text}`);
  }
});

test('a missing required param is named', async () => {
  const answer = await open.rpc('GetTask', {});
  assertRefused(answer, { code: -32602 });
  assert.match(detail(answer.error, 'BadRequest').fieldViolations[0].field, /id$/);
});

test('A2A 1.0 and 1.0.x are spoken', async () => {
  for (const version of ['1.0', '1.0.0', '1.0.1']) {
    assert.ok((await open.rpc('ListTasks', {}, { version })).result, version);
  }
});

test('bad_bearer_never_falls_back', async (t) => {
  const { tokens: known, options: base } = twoUsers();
  base.config.a2a.principals.push({ match: { any: true }, role: 'agent' });
  const lenient = await startDaemon(t, base);
  assert.ok((await lenient.rpc('ListTasks', {})).result, 'the any rule admits who presents nothing');
  assert.ok((await lenient.rpc('ListTasks', {}, { token: known.alice })).result);
  for (const token of ['wrong', `${known.alice}x`, '', `agentd_at_${'0'.repeat(64)}`]) {
    const answer = await lenient.rpc('ListTasks', {}, { headers: { authorization: `Bearer ${token}` } });
    assertRefused(answer, { http: 401, code: -31401 });
  }
});

test('without a bearer mechanism the header is ignored', async () => {
  assert.ok((await open.rpc('ListTasks', {}, { token: 'whatever' })).result);
});

test('the checks come in the order of the contract', async () => {
  const big = envelope({ params: { pad: 'x'.repeat(2 * 1024 * 1024) } });
  const bearer = { token: tokens.alice };
  const subscribe = (over) => envelope({ method: SUBSCRIBE, params: { fromSeq: -1 }, ...over });
  const rows = [
    ['authentication before size', big, {}, { http: 401, code: -31401, id: null }],
    ['size before JSON', big.slice(1), bearer, { http: 413, code: -32700, id: null }],
    ['authentication before JSON', '{', {}, { http: 401, code: -31401, id: null }],
    ['JSON before envelope and version', '[', { ...bearer, version: '0.3' }, { code: -32700 }],
    ['envelope before version', '[]', { ...bearer, version: '0.3' }, { code: -32600 }],
    ['version before route', envelope({ method: 'Nothing' }), { ...bearer, version: '0.3' }, { code: -32009 }],
    ['route before params', envelope({ method: 'Nothing', params: { a: 1 } }), bearer, { code: -32601 }],
    ['extensions before params', subscribe(), bearer, { code: -32601, reason: 'EXTENSION_NOT_ACTIVATED' }],
    ['then params', subscribe(), { ...bearer, extensions: [EVENTS] }, { code: -32602, fields: ['params.fromSeq'] }],
  ];
  for (const [what, body, how, expected] of rows) {
    await assert.doesNotReject(async () => assertRefused(await closed.post(body, how), expected), what);
  }
  const foreign = { ...bearer, headers: { origin: 'https://elsewhere.example' } };
  for (const body of [big, '{']) assert.equal((await closed.post(body, foreign)).status, 403, 'origin before all that');
});

test('both spellings of field names come in, only camelCase goes out', async () => {
  const { task } = await open.call('SendMessage', {
    message: {
      message_id: 'm1', context_id: 'snake', role: 'ROLE_USER', parts: [{ text: 'hello', media_type: 'text/plain' }],
    },
    configuration: { history_length: 1, accepted_output_modes: ['text/plain'], return_immediately: false },
  });
  assert.equal(task.contextId, 'snake');
  assert.equal(task.history.length, 1);
  const page = await open.call('ListTasks', {
    context_id: 'snake', page_size: 1, history_length: 0, include_artifacts: true,
  });
  assert.deepEqual([page.tasks.length, page.pageSize, page.totalSize], [1, 1, 1]);
  assert.ok(Array.isArray(page.tasks[0].artifacts));
  assert.doesNotMatch(JSON.stringify([task, page]), /"(context|task|message|artifact|page|next_page|total)_\w+":/);
});

test('the endpoint answers with and without the trailing slash', async () => {
  for (const url of [open.url, `${open.url}/`]) {
    const answer = await request(url, { method: 'POST', headers: open.headers(), body: envelope() });
    assert.ok(answer.json().result, url);
  }
});

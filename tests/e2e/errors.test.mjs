// Refusals of the JSON-RPC endpoint (access.md section 3), case by case, and the order of the checks.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { COMMAND, EVENTS, SUBSCRIBE } from './contract.mjs';
import { request, startDaemon, twoUsers, userMessage } from './harness.mjs';
import { assertRefused, detail } from './refusals.mjs';

const open = await startDaemon();  // no credential configured: the loopback caller is the operator
const { tokens, options } = twoUsers();
const closed = await startDaemon(undefined, options);

const envelope = (over) => JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'ListTasks', params: {}, ...over });
const nested = (depth) => envelope({ params: 'DEEP' }).replace('"DEEP"', `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`);

async function table(rows, post) {
  for (const [what, input, expected] of rows) {
    await assert.doesNotReject(async () => assertRefused(await post(input), expected), what);
  }
}

test('a content type that is not JSON is refused before the body is looked at', async () => {
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', '']) {
    const answer = await open.post('{"jsonrpc":', { headers: { 'content-type': type } });
    assertRefused(answer, { code: -32005, reason: 'CONTENT_TYPE_NOT_SUPPORTED' });
  }
  const answer = await open.post(envelope(), { headers: { 'content-type': 'Application/JSON; charset=utf-8' } });
  assert.ok(answer.body.result, answer.text);
});

test('a body that is not JSON is -32700 with a null id', async () => {
  const rows = ['', '{', '{"jsonrpc":"2.0"', envelope() + 'x', "{'a':1}", '\u0000', nested(200), '['.repeat(200)]
    .map((body) => [body.slice(0, 40), body, { code: -32700, id: null }]);
  await table(rows, (body) => open.post(body));
  const invalid = Buffer.from(envelope({ method: '~~' })).map((byte) => (byte === 0x7e ? 0xff : byte));  // no UTF-8
  assertRefused(await open.post(invalid), { code: -32700, id: null });
});

test('nesting within the limit is no parse error', async () => {
  assert.notEqual((await open.post(nested(100))).body.error?.code, -32700);
});

const big = envelope({ params: { pad: 'x'.repeat(2 * 1024 * 1024) } });

test('a body over 2 MiB is 413, one just below is taken', async () => {
  assertRefused(await open.post(big), { http: 413, code: -32700, id: null });
  const { status } = await open.rpc('SendMessage', { message: userMessage('x'.repeat(2 * 1024 * 1024 - 4096)) });
  assert.equal(status, 200);
});

test('an envelope that is not a JSON-RPC 2.0 request is -32600', async () => {
  const bad = {
    'empty batch': '[]',
    batch: `[${envelope()}]`,
    number: '1',
    string: '"ListTasks"',
    null: 'null',
    'no jsonrpc': envelope({ jsonrpc: undefined }),
    'jsonrpc 1.0': envelope({ jsonrpc: '1.0' }),
    'jsonrpc as a number': envelope({ jsonrpc: 2.0 }),
    'no method': envelope({ method: undefined }),
    'method as a number': envelope({ method: 1 }),
    'no id': envelope({ id: undefined }),
    'null id': envelope({ id: null }),
    'fractional id': envelope({ id: 1.5 }),
    'boolean id': envelope({ id: true }),
    'id as an object': envelope({ id: {} }),
  };
  await table(Object.entries(bad).map(([what, body]) => [what, body, { code: -32600 }]), (body) => open.post(body));
});

test('ids come back exactly as they were sent', async () => {
  for (const id of ['0', '-3', '"seven"', '""', '"\\u00e9"', '9007199254740993']) {
    const answer = await open.post(`{"jsonrpc":"2.0","id":${id},"method":"ListTasks","params":{}}`);
    const sent = id.startsWith('"') ? JSON.stringify(JSON.parse(id)) : id;
    assert.ok(answer.text.includes(`"id":${sent}`), `${id} in ${answer.text}`);
  }
});

test('params that are not an object are -32602', async () => {
  for (const params of [[], [1], 'x', 1, true]) {
    assertRefused(await open.post(envelope({ params })), { code: -32602, id: 7 });
  }
});

test('a missing required param is named', async () => {
  const answer = await open.rpc('GetTask', {});
  assertRefused(answer, { code: -32602 });
  assert.match(detail(answer.error, 'BadRequest').fieldViolations[0].field, /id$/);
});

test('the version header is required, and 1.0 and 1.0.x are what is spoken', async () => {
  for (const version of [null, '', '0.3', '0.3.0', '1', '1.1', '2.0', 'x']) {
    const answer = await open.rpc('ListTasks', {}, { version });
    assertRefused(answer, { code: -32009, reason: 'VERSION_NOT_SUPPORTED' });
    assert.match(answer.error.message, /A2A-Version/);
    assert.match(detail(answer.error, 'ErrorInfo').metadata.supportedVersions, /1\.0/);
  }
  for (const version of ['1.0', '1.0.0', '1.0.1']) {
    assert.ok((await open.rpc('ListTasks', {}, { version })).result, version);
  }
});

test('an unknown method is -32601, the same for every caller', async () => {
  const answers = [];
  for (const token of [tokens.operator, tokens.alice]) {
    for (const method of ['NoSuchMethod', 'message/send', 'listtasks', '']) {
      const answer = await closed.rpc(method, {}, { token, id: 7 });
      assertRefused(answer, { code: -32601, id: 7 });
      answers.push([method, answer.text]);
    }
  }
  assert.deepEqual(answers.slice(0, 4), answers.slice(4));
});

test('nothing presented is 401 with a challenge', async () => {
  const answer = await closed.rpc('ListTasks', {});
  assertRefused(answer, { http: 401, code: -31401, reason: 'UNAUTHENTICATED', id: null });
  assert.equal(answer.headers['www-authenticate'], 'Bearer realm="agentd"');
});

test('bad_bearer_never_falls_back', async (t) => {
  const { tokens: known, options: base } = twoUsers();
  base.config.a2a.principals.push({ match: { any: true }, role: 'agent' });
  const lenient = await startDaemon(t, base);
  assert.ok((await lenient.rpc('ListTasks', {})).result, 'the any rule admits who presents nothing');
  assert.ok((await lenient.rpc('ListTasks', {}, { token: known.alice })).result);
  for (const instance of [closed, lenient]) {
    for (const token of ['wrong', `${tokens.alice}x`, `agentd_at_${'0'.repeat(64)}`]) {
      const answer = await instance.rpc('ListTasks', {}, { token });
      assertRefused(answer, { http: 401, code: -31401, reason: 'UNAUTHENTICATED', id: null });
      assert.match(answer.headers['www-authenticate'], /^Bearer realm="agentd".*error="invalid_token"/);
    }
  }
});

test('without a bearer mechanism the header is ignored', async () => {
  assert.ok((await open.rpc('ListTasks', {}, { token: 'whatever' })).result);
});

test('the checks come in the order of the contract', async () => {
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

test('extensions that are asked for and known are echoed, in registry order', async () => {
  const answer = await open.rpc('ListTasks', {}, { extensions: ['urn:unknown', EVENTS, COMMAND, EVENTS] });
  assert.deepEqual(answer.headers['a2a-extensions'].split(/, ?/), [COMMAND, EVENTS]);
  assert.equal((await open.rpc('ListTasks', {})).headers['a2a-extensions'], undefined);
});

// Pages in browsers (access.md section 6): what those of a listed origin are told, and that all others get nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { COMMAND, EVENTS, SUBSCRIBE } from './contract.mjs';
import { request, startDaemon, twoUsers } from './harness.mjs';
import { assertRefused } from './refusals.mjs';

const UI = 'https://ui.example:8443';
const cors = { a2a: { cors: { origins: [UI, 'http://localhost:3000'] } } };
const { tokens, options } = twoUsers(cors);
const daemon = await startDaemon(undefined, options);
const open = await startDaemon(undefined, { config: cors });  // no credential configured
const paths = ['/', '/events', '/.well-known/agent-card.json', '/healthz', '/a2a/ext/events/schema.json'];

const list = (value) => (value ?? '').split(/, */).map((item) => item.toLowerCase()).sort();

function assertReadable({ status, headers }, origin = UI) {
  assert.equal(headers['access-control-allow-origin'], origin, `HTTP ${status}`);
  assert.deepEqual(list(headers['access-control-expose-headers']), ['a2a-extensions', 'retry-after', 'www-authenticate']);
  assert.deepEqual(list(headers.vary), ['origin']);
  assert.equal(headers['access-control-allow-credentials'], undefined, 'no cookie, whatever it is');
}

function assertNothing(answer, what) {
  assert.deepEqual([answer.status, answer.text], [403, ''], what);
  assert.equal(answer.headers['access-control-allow-origin'], undefined, what);
  assert.deepEqual(list(answer.headers.vary), ['origin'], what);
}

const preflight = (at, origin, method = 'POST', headers = {}) => request(at, {
  method: 'OPTIONS',
  headers: {
    origin, 'access-control-request-method': method, 'access-control-request-headers': 'authorization,content-type', ...headers,
  },
});

test('a listed origin may ask before it sends, at every path that is served', async () => {
  for (const path of paths) {
    for (const origin of [UI, 'http://localhost:3000']) {
      const answer = await preflight(daemon.url + path, origin);
      assert.deepEqual([answer.status, answer.text], [204, ''], path);
      assertReadable(answer, origin);
      assert.deepEqual(list(answer.headers['access-control-allow-methods']), ['get', 'options', 'post']);
      assert.deepEqual(list(answer.headers['access-control-allow-headers']),
        ['a2a-extensions', 'a2a-version', 'authorization', 'content-type', 'last-event-id']);
      assert.ok(Number(answer.headers['access-control-max-age']) > 0);
    }
  }
  const nowhere = await preflight(`${daemon.url}/nothing`, UI);
  assert.equal(nowhere.status, 404);
  assertReadable(nowhere);
  assert.equal((await request(daemon.url, { method: 'OPTIONS' })).status, 405, 'who is no page asks nothing');
});

test('a listed origin reads what it is told: answers, streams and refusals', async () => {
  const page = (over = {}) => ({ token: tokens.alice, ...over, headers: { origin: UI, ...over.headers } });
  const result = await daemon.rpc('ListTasks', {}, page({ extensions: [COMMAND] }));
  assert.ok(result.result);
  assertReadable(result);
  assert.equal(result.headers['a2a-extensions'], COMMAND);

  const refusals = [
    [{ http: 401, code: -31401 }, await daemon.rpc('ListTasks', {}, page({ token: undefined }))],
    [{ http: 401, code: -31401 }, await daemon.rpc('ListTasks', {}, page({ token: 'wrong' }))],
    [{ code: -32601 }, await daemon.rpc('Nothing', {}, page())],
    [{ code: -32700 }, await daemon.post('{', page())],
    [{ code: -32005 }, await daemon.post('{', page({ headers: { 'content-type': 'text/plain' } }))],
  ];
  for (const [expected, answer] of refusals) {
    assertRefused(answer, expected);
    assertReadable(answer);
  }
  for (const [method, path, status] of [['GET', '/', 405], ['POST', '/events', 405], ['GET', '/nothing', 404],
    ['GET', '/events', 401]]) {
    const answer = await request(daemon.url + path, { method, headers: { origin: UI } });
    assert.equal(answer.status, status, `${method} ${path}`);
    assertReadable(answer);
  }

  const subscription = await daemon.stream(SUBSCRIBE, {}, page({ extensions: [EVENTS] }));
  const feed = await daemon.curl('?follow=false', page());
  for (const stream of [subscription, feed]) {
    assert.equal(stream.status, 200);
    assertReadable(stream);
    stream.destroy();
  }
});

test('who asks too often may read that, and when to come again', async (t) => {
  const limited = twoUsers(cors);
  limited.options.config.a2a.principals[0].rate = '1/1h';
  const strict = await startDaemon(t, limited.options);
  const page = { token: limited.tokens.alice, headers: { origin: UI } };
  assert.ok((await strict.rpc('ListTasks', {}, page)).result);
  const answer = await strict.rpc('ListTasks', {}, page);
  assertRefused(answer, { http: 429, code: -32603, reason: 'RATE_LIMITED' });
  assertReadable(answer);
});

test('null_origin_is_a_browser', async () => {
  const foreign = ['null', 'https://evil.example', 'https://ui.example', 'http://ui.example:8443', `${UI}/`, `${UI}.evil.example`,
    'https://UI.example:8443', '*', 'http://localhost', 'http://127.0.0.1'];
  for (const [instance, token] of [[open, undefined], [daemon, tokens.alice], [daemon, 'wrong']]) {
    for (const origin of foreign) {
      assertNothing(await instance.rpc('ListTasks', {}, { token, headers: { origin } }), origin);
      assertNothing(await request(`${instance.url}/events`, { headers: { origin } }), origin);
      for (const path of [...paths, '/nothing']) assertNothing(await preflight(instance.url + path, origin, 'GET'), origin);
    }
    for (const host of ['evil.example', `127.0.0.1.evil.example:${new URL(instance.url).port}`]) {
      for (const origin of [undefined, UI]) {
        const headers = { host, ...(origin && { origin }) };
        assertNothing(await instance.rpc('ListTasks', {}, { token, headers }), `${origin} at ${host}`);
        for (const path of paths) assertNothing(await request(instance.url + path, { headers }), `${origin} at ${host}${path}`);
      }
    }
  }
});

test('a page of this machine is not the operator, listed or not', async () => {
  assert.ok((await open.rpc('ListTasks', {})).result, 'a program is');
  for (const origin of cors.a2a.cors.origins) {
    const answer = await open.rpc('ListTasks', {}, { headers: { origin } });
    assertRefused(answer, { http: 401, code: -31401, reason: 'UNAUTHENTICATED' });
    assertReadable(answer, origin);
    assert.equal((await request(`${open.url}/events`, { headers: { origin } })).status, 401);
  }
  // What an <img> or a link asks for has no Origin.
  const events = async (site) => (await request(`${open.url}/events?follow=false`, {
    headers: site && { 'sec-fetch-site': site } })).status;
  for (const site of ['cross-site', 'same-site']) assert.equal(await events(site), 401, site);
  for (const site of ['same-origin', 'none', undefined]) assert.equal(await events(site), 200, site);
});

test('the public pages are for every page of the web', async () => {
  for (const path of paths.slice(2)) {
    for (const origin of [UI, 'https://evil.example', 'null', undefined]) {
      const { status, headers } = await request(daemon.url + path, { headers: origin && { origin } });
      assert.equal(status, 200, path);
      assert.equal(headers['access-control-allow-origin'], '*');
    }
  }
});

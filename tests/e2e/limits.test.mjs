// How often a source may fail, and a principal ask (access.md section 5). What is a failure is in refusals.test.mjs; that
// both recover is for the unit tests, which turn the clock.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { request, startDaemon, twoUsers } from './harness.mjs';
import { assertRefused } from './refusals.mjs';

// A 429, whoever it is for; in at most so many seconds there is a token again.
function assertLimited(answer, { id = null, seconds }) {
  assertRefused(answer, { http: 429, code: -32603, reason: 'RATE_LIMITED', domain: 'agentd.dev', id });
  const after = Number(answer.headers['retry-after']);
  assert.ok(Number.isInteger(after) && after >= 1 && after <= seconds, `Retry-After: ${answer.headers['retry-after']}`);
  assertRefused(answer, { http: 429, code: -32603, reason: 'RATE_LIMITED', metadata: { retryAfterSeconds: `${after}` } });
}

// Asks until the answer is a 429: that one, and those before it.
async function untilLimited(ask) {
  const before = [];
  for (let n = 0; n < 200; ++n) {
    const answer = await ask(n);
    if (answer.status === 429) {
      try { answer.body = answer.json(); } catch { answer.body = undefined; }
      return { answer, before };
    }
    before.push(answer);
  }
  return assert.fail('200 requests, and no 429');
}

test('failure_limit_counts_failures_only', async (t) => {
  const { tokens, options } = twoUsers();
  const daemon = await startDaemon(t, options);
  const list = (how) => daemon.rpc('ListTasks', {}, how);
  const feed = (token) => request(`${daemon.url}/events?follow=false`, {
    headers: token ? { authorization: `Bearer ${token}` } : {},
  });

  for (let i = 0; i < 30; ++i) assert.ok((await list({ token: tokens.alice })).result);
  const begun = Date.now();
  const { answer, before } = await untilLimited((n) => (n % 2 === 0 ? list({ token: 'wrong', id: 7 }) : feed('wrong')));
  const most = 20 + Math.floor((Date.now() - begun) / 3000) + 1;
  assert.ok(before.length >= 20 && before.length <= most, `${before.length} failures were told what they are`);
  assert.ok(before.every(({ status }) => status === 401));
  assertLimited(answer, { seconds: 3 });
  await untilLimited(() => request(daemon.url, {  // not waiting for a body that is announced
    method: 'POST', headers: { ...daemon.headers({ token: 'wrong' }), 'content-length': '1000', expect: '100-continue' },
  }));
  assert.equal((await feed(tokens.operator)).status, 429);
  assert.equal((await request(`${daemon.url}/.well-known/agent-card.json`)).status, 200, 'and so are the pages');
});

test('a principal is held to the rate of its rule, whatever it asks', async (t) => {
  const { tokens, options } = twoUsers();
  options.config.a2a.principals[0].rate = '4/1h';  // one comes back in a quarter of an hour: none meanwhile
  const daemon = await startDaemon(t, options);
  const alice = { token: tokens.alice };
  const feed = (token) => request(`${daemon.url}/events?follow=false`, { headers: { authorization: `Bearer ${token}` } });

  assert.ok((await daemon.rpc('ListTasks', {}, alice)).result);
  assertRefused(await daemon.rpc('Nothing', {}, alice), { code: -32601 });
  assertRefused(await daemon.post('{', alice), { code: -32700 });
  assert.equal((await feed(tokens.alice)).status, 200);

  const seconds = 900;
  assertLimited(await daemon.rpc('ListTasks', {}, { ...alice, id: 'mine' }), { id: 'mine', seconds });
  assertLimited(await daemon.rpc('SendStreamingMessage', {}, { ...alice, id: 8 }), { id: 8, seconds });
  assertLimited(await daemon.post('{', alice), { id: null, seconds });
  const events = await feed(tokens.alice);
  assertLimited({ ...events, body: events.json() }, { id: null, seconds });

  for (const token of [tokens.bob, tokens.operator]) {
    for (let i = 0; i < 10; ++i) assert.ok((await daemon.rpc('ListTasks', {}, { token })).result);
  }
  assert.equal((await request(`${daemon.url}/healthz`)).status, 200);
});

// The session of a browser (access.md sections 4 and 6): its cookie, what it is good for, and what no page of elsewhere can do with it.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { request, startDaemon, users } from './harness.mjs';
import { browse, codeOf, portOf } from './launch.mjs';
import { assertRefused } from './refusals.mjs';
import { form } from './sign_in.mjs';

const { options } = users([]);
const daemon = await startDaemon(undefined, options);
const browser = await browse(daemon);
const own = { cookie: browser.cookie, origin: daemon.url, 'sec-fetch-site': 'same-origin' };
const session = async () => (await browser.get('/oauth2/session')).json();
const csrf = { 'x-csrf-token': (await session()).csrf_token };
const call = (headers, at = daemon) => at.rpc('ListTasks', {}, { headers });

function assertSealed({ status, headers }, what) {
  assert.deepEqual([headers['cache-control'], headers['x-content-type-options']], ['no-store', 'nosniff'], `${what}: ${status}`);
}

test('a launch gives a browser a session that no script can read', async () => {
  const { answer, set } = browser;
  assert.deepEqual([answer.status, answer.headers.location, answer.headers['referrer-policy']],
    [303, '/oauth2/session', 'no-referrer']);
  assert.match(set, new RegExp(
    `^agentd_session_${portOf(daemon)}=agentd_at_[0-9a-f]{64}; HttpOnly; SameSite=Strict; Path=/; Max-Age=28800$`));
  const { sid, principal, role, expires_at, csrf_token, ...more } = await session();
  assert.match(sid, /^ls_/);
  assert.match(csrf_token, /^[0-9a-f]{64}$/);
  assert.deepEqual([principal, role, more], ['operator', 'operator', {}]);
  assert.ok(Math.abs(expires_at - Date.now() - 8 * 3600_000) < 60_000);
});

test('a launch link is good once, for a browser, at its origin', async () => {
  const open = (code, headers = {}) => request(`${daemon.url}/oauth2/launch?code=${code}`, { headers });
  const ui = () => codeOf(daemon, { client_id: 'agentd-ui' });
  for (const [what, code, headers] of [
    ['used up', browser.code, {}],
    ['of another client', await codeOf(daemon), {}],
    ['at another origin', await ui(), { host: `localhost:${portOf(daemon)}` }],
    ['from a page of elsewhere', await ui(), { 'sec-fetch-site': 'cross-site' }],
    ['unknown', '', {}],
  ]) {
    for (const again of ['', ', then as it should be']) {
      const refused = await open(code, again ? {} : headers);
      assert.deepEqual([refused.status, refused.headers['set-cookie']], [403, undefined], what + again);
      assert.match(refused.text, /Start again/);
      assert.equal(refused.headers['referrer-policy'], 'no-referrer');
      assertSealed(refused, what);
    }
  }
});

test('the cookie is a credential for the daemon\'s own pages, and a change needs the CSRF token', async () => {
  assert.ok((await call({ ...own, ...csrf })).result);
  assert.ok((await call({ cookie: browser.cookie, ...csrf })).result, 'a browser of before Sec-Fetch-Site');
  for (const wrong of [{}, { 'x-csrf-token': '' }, { 'x-csrf-token': browser.token }, { 'x-csrf-token': '0'.repeat(64) }]) {
    for (let count = 0; count < 8; ++count) {
      assertRefused(await call({ ...own, ...wrong }),
        { http: 403, code: -31403, reason: 'PERMISSION_DENIED', metadata: { header: 'X-CSRF-Token' } });
    }
  }
  assert.ok((await call({ ...own, ...csrf })).result, 'none of it counts as a failure');
  const events = await browser.get('/events?follow=false', { accept: 'text/event-stream' });
  assert.match(events.text, /"hello"/);
  assert.equal((await browser.get('/.well-known/agent-card.json')).status, 200);
});

test('a page of elsewhere has nothing of the cookie', async () => {
  for (const origin of ['http://localhost:3000', 'null', `https://127.0.0.1:${portOf(daemon)}`, 'http://127.0.0.1']) {
    const refused = await call({ ...own, ...csrf, origin });
    assert.deepEqual([refused.status, refused.text], [403, ''], origin);
  }
  for (const site of ['same-site', 'cross-site']) {
    assert.equal((await call({ ...own, ...csrf, 'sec-fetch-site': site })).status, 401, site);
    assert.equal((await browser.get('/oauth2/session', { 'sec-fetch-site': site })).status, 401, site);
    assert.equal((await browser.get('/events', { 'sec-fetch-site': site })).status, 401, site);
  }
  const listed = await startDaemon(undefined, { ...options, config: { ...options.config, a2a: { ...options.config.a2a, cors: { origins: ['http://localhost:3000'] } } } });
  const theirs = await browse(listed);
  const { csrf_token } = (await theirs.get('/oauth2/session')).json();
  assert.equal((await call({ cookie: theirs.cookie, 'x-csrf-token': csrf_token, origin: 'http://localhost:3000' }, listed)).status, 401);
});

test('the own origin is not refused, and needs no CORS', async () => {
  const { status, headers } = await call({ ...own, ...csrf });
  assert.deepEqual([status, headers['access-control-allow-origin'], headers.vary], [200, undefined, undefined]);
  const open = await startDaemon();
  assert.ok((await call({ origin: open.url }, open)).result, 'who is the operator without a credential is so in a page of ours');
  assert.equal((await call({ origin: open.url, host: `localhost:${portOf(open)}` }, open)).status, 403);
  assert.equal((await call({ origin: `http://evil.example:${portOf(open)}`, host: `evil.example:${portOf(open)}` }, open)).status, 403);
});

test('what is presented beside the cookie goes before it', async () => {
  for (const authorization of ['Bearer wrong', 'Basic eDp5']) {
    assert.equal((await call({ ...own, ...csrf, authorization })).status, 401, authorization);
    assert.equal((await browser.get('/oauth2/session', { authorization })).status, 401, authorization);
  }
  assert.equal((await request(`${daemon.url}/oauth2/session`)).status, 401);
});

test('a session that is revoked ends the browser\'s streams, and its cookie is a wrong credential', async () => {
  const mine = await browse(daemon);
  const stream = await daemon.curl('', { headers: { cookie: mine.cookie, 'sec-fetch-site': 'same-origin' } });
  assert.ok(await stream.next());
  assert.equal((await form(daemon, '/oauth2/revoke', { token: mine.token })).status, 200);
  let text = '';
  for (let event = await stream.next(); event; event = await stream.next()) text += JSON.stringify(event);
  assert.match(text, /revoked/);
  const refused = await call({ cookie: mine.cookie, ...csrf });
  assertRefused(refused, { http: 401, code: -31401, reason: 'UNAUTHENTICATED' });
  assert.match(refused.headers['www-authenticate'], /error="invalid_token"/);
  assert.equal((await mine.get('/oauth2/session')).status, 401);
});

test('every answer below /oauth2/ is kept by no cache and is what it says', async () => {
  for (const [method, path, headers] of [
    ['GET', '/oauth2/session', own], ['GET', '/oauth2/session', {}], ['POST', '/oauth2/session', {}], ['GET', '/oauth2/token', {}],
    ['POST', '/oauth2/token', {}], ['POST', '/oauth2/launch', {}], ['GET', '/oauth2/nothing', {}],
    ['GET', '/oauth2/session', { host: 'evil.example' }], ['POST', '/oauth2/token', { 'content-length': 99_999 }],
  ]) {
    assertSealed(await request(daemon.url + path, { method, headers }), `${method} ${path}`);
  }
  assertSealed(await form(daemon, '/oauth2/revoke', { token: 'agentd_at_nonsense' }), 'revoke');
});

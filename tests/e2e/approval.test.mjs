// The approval page (access.md section 4): an operator answers sign-ins in a browser, which has a cookie and no script.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as oauth from 'oauth4webapi';

import { Authority } from './certificates.mjs';
import { request, startDaemon, users } from './harness.mjs';
import { beside, browse } from './launch.mjs';
import { environment, makeFolder, removeFolder, run } from './processes.mjs';
import { ask, poll, said, signIn } from './sign_in.mjs';

const PAGE = '/oauth2/device';

async function start(t) {
  const { tokens, options } = users(['alice'], signIn());
  const daemon = await startDaemon(t, options);
  const browser = await browse(daemon);
  assert.equal(browser.answer.headers.location, PAGE);
  return { daemon, browser, tokens };
}

const unescape = (text) => text.replace(/&(lt|gt|quot|#39|amp);/g, (_, name) => (
  { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' }[name]));

// The forms of a page, as a browser has them before anybody fills them in: {fields, text}.
const formsOf = ({ text }) => [...text.matchAll(/<form method="post" action="\/oauth2\/device">(.*?)<\/form>/gs)]
  .map(([, form]) => ({
    text: form,
    fields: {
      ...Object.fromEntries([...form.matchAll(/<input[^>]* name="([^"]*)" value="([^"]*)"/g)]
        .map(([, name, value]) => [name, unescape(value)])),
      scope: (/<option selected>(\w+)</.exec(form) ?? /<option>(\w+)</.exec(form))[1],
    },
  }));

const press = ({ daemon, browser = {} }, fields, headers = {}, tls = daemon.tls) => request(daemon.url + PAGE, {
  method: 'POST', body: new URLSearchParams(fields).toString(), tls,
  headers: {
    'content-type': 'application/x-www-form-urlencoded', cookie: browser.cookie ?? '', origin: daemon.url,
    'sec-fetch-site': 'same-origin', ...headers,
  },
});

const waiting = async (daemon, token) => (await said(daemon, 'auth.device.pending', {}, { token })).pending.length;

test('a sign-in is approved in a browser, and a stock client gets its token', async (t) => {
  const world = await start(t);
  const { daemon, browser, tokens } = world;
  const feed = await daemon.feed({ token: tokens.operator });
  const [insecure, client] = [{ [oauth.allowInsecureRequests]: true }, { client_id: 'stock' }];
  const issuer = new URL(daemon.url);
  const server = await oauth.processDiscoveryResponse(issuer,
    await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure }));
  const begun = await oauth.processDeviceAuthorizationResponse(server, client,
    await oauth.deviceAuthorizationRequest(server, client, oauth.None(), { scope: 'operator' }, insecure));
  await ask(daemon);

  const page = await browser.get(begun.verification_uri_complete.slice(daemon.url.length));
  assert.equal(page.status, 200);
  const forms = formsOf(page);
  assert.deepEqual(forms.map(({ fields }) => fields.scope), ['operator', 'user'], 'the one that is named comes first');
  assert.deepEqual([forms[0].fields.user_code, forms[0].fields.as], [begun.user_code, '']);
  assert.match(forms[0].text, /stock.*127\.0\.0\.1/s);
  assert.ok(!page.text.includes('<script'));
  const policy = page.headers['content-security-policy'];
  for (const rule of ["default-src 'none'", "form-action 'self'", "frame-ancestors 'none'"]) assert.ok(policy.includes(rule), policy);

  const outcome = await press(world, { ...forms[0].fields, as: 'ada', scope: 'user', action: 'approve' });
  assert.equal(outcome.status, 200, outcome.text);
  assert.ok(outcome.text.includes(`${begun.user_code} is approved as user:ada with scope user, for stock at 127.0.0.1.`));
  const { access_token: token } = await oauth.processDeviceCodeResponse(server, client,
    await oauth.deviceCodeGrantRequest(server, client, oauth.None(), begun.device_code, insecure));
  assert.equal((await daemon.rpc('ListTasks', {}, { token })).status, 200);
  const { data } = await feed.until('the approval', ({ kind, data: { event } }) => kind === 'auth' && event === 'approved');
  assert.deepEqual([data.name, data.scope], ['ada', 'user']);
  feed.close();
});

test('what is done on the page is audited as the op, by the session', async (t) => {
  const { tokens, options } = users([], { ...signIn(), a2a: { ...signIn().a2a, introspection: { enabled: true } } });
  const daemon = await startDaemon(t, options);
  const browser = await browse(daemon);
  const world = { daemon, browser };
  const feed = await daemon.feed({ token: tokens.operator });
  const asked = await ask(daemon);
  const [{ fields }] = formsOf(await browser.get(PAGE));
  assert.equal((await press(world, { ...fields, as: 'Ada', action: 'approve' })).status, 400);
  const denied = await press(world, { ...fields, action: 'deny' });
  assert.ok(denied.text.includes(`${asked.user_code} is denied.`), denied.text);
  assert.equal((await poll(daemon, asked)).json().error, 'access_denied');
  assert.equal((await press(world, { ...fields, as: 'operator', action: 'approve' })).status, 400);
  const { data: record } = await feed.until('the record', ({ kind, data }) => kind === 'audit' && data.action === 'auth.device.deny');
  const { data: last } = await feed.until('the last record', ({ kind, data }) => kind === 'audit'
    && data.action === 'auth.device.approve' && data.outcome !== 'ok');
  const { sid } = (await browser.get('/oauth2/session')).json();
  assert.deepEqual([record.sid, record.principal, record.outcome, record.target],
    [sid, 'operator', 'ok', { user_codes: [asked.user_code] }]);
  assert.deepEqual([last.sid, last.target], [sid, null]);
  feed.close();
});

test('a fault is told in the form, with what was typed', async (t) => {
  const world = await start(t);
  const { daemon, browser, tokens } = world;
  await ask(daemon);  // for longer: without a code in the address it is the first form
  const asked = await ask(daemon);
  const { fields } = formsOf(await browser.get(`${PAGE}?user_code=${asked.user_code}`))[0];
  for (const [change, fault] of [
    [{ as: '' }, /The name must /], [{ as: '"><script>' }, /The name must /], [{ as: 'operator' }, /The name is a reserved name/],
    [{ as: 'ada', scope: 'operator' }, /The scope is wider than what was asked for/],
    [{ as: 'ada', scope: '<b>' }, /The scope must /],
  ]) {
    const page = await press(world, { ...fields, action: 'approve', ...change });
    assert.equal(page.status, 400, page.text);
    const [again] = formsOf(page);
    assert.match(again.text, fault);
    assert.deepEqual([again.fields.as, again.fields.csrf_token], [change.as, fields.csrf_token]);
    assert.ok(!page.text.includes('<script'));
  }
  for (const action of ['approve', 'deny']) {
    const unknown = await press(world, { ...fields, user_code: 'BCDF-GHJK', as: 'ada', action });
    assert.equal(unknown.status, 400);
    assert.match(unknown.text, /role="alert">This is not a code that waits/);
    assert.equal(formsOf(unknown).length, 2, 'beside those that do wait');
  }
  assert.match((await browser.get(`${PAGE}?user_code=BCDF-GHJK`)).text, /BCDF-GHJK is not a code that waits/);
  assert.equal((await press(world, { ...fields, as: 'ada', action: 'adopt' })).status, 400);
  assert.equal(await waiting(daemon, tokens.operator), 2);
  assert.equal((await press(world, { ...fields, as: 'ada', action: 'approve' })).status, 200);
  assert.equal((await poll(daemon, asked)).status, 200);
});

test('nothing is approved by who is no operator, or does not mean it', async (t) => {
  const world = await start(t);
  const { daemon, browser, tokens } = world;
  await ask(daemon);
  const { fields } = formsOf(await browser.get(PAGE))[0];
  const good = { ...fields, as: 'eve', action: 'approve' };
  const { csrf_token: _, ...bare } = good;
  const bearer = (token) => ({ cookie: '', authorization: `Bearer ${token}` });
  for (const [what, form, headers, status] of [
    ['no CSRF token', bare, {}, 403],
    ['a wrong one', { ...bare, csrf_token: '0'.repeat(64) }, {}, 403],
    ['the header in place of the field', bare, { 'x-csrf-token': fields.csrf_token }, 403],
    ['a foreign origin', good, { origin: 'http://localhost:3000' }, 403],
    ['the origin of no-referrer', good, { origin: 'null' }, 403],
    ['a page of the same site', good, { 'sec-fetch-site': 'same-site' }, 401],
    ['nobody', bare, { cookie: '' }, 401],
    ['a user', bare, bearer(tokens.alice), 403],
    ['a wrong bearer', bare, bearer('wrong'), 401],
    ['a bearer of no use beside a cookie', good, { authorization: 'Basic eDp5' }, 401],
  ]) {
    const refused = await press(world, form, headers);
    assert.equal(refused.status, status, `${what}: ${refused.text}`);
    assert.deepEqual([refused.headers['cache-control'], refused.headers['x-content-type-options']], ['no-store', 'nosniff'], what);
  }
  assert.equal(await waiting(daemon, tokens.operator), 1);
  const huge = await press(world, { ...good, as: 'x'.repeat(5_000) });
  assert.equal(huge.status, 413);
  for (const headers of [{}, { authorization: `Bearer ${tokens.alice}` }]) {
    const { status, text } = await request(daemon.url + PAGE, { headers });
    assert.ok(status === 200 && text.includes('agentd devices approve') && !text.includes(fields.user_code), text);
  }
  const operator = await press(world, bare, bearer(tokens.operator));
  assert.equal(operator.status, 200, operator.text);
});

test('a session that is over approves nothing', async (t) => {
  const world = await start(t);
  const { daemon, browser, tokens } = world;
  await ask(daemon);
  const { fields } = formsOf(await browser.get(PAGE))[0];
  await request(`${daemon.url}/oauth2/revoke`, {
    method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: `token=${browser.token}` });
  const refused = await press(world, { ...fields, as: 'eve', action: 'approve' });
  assert.equal(refused.status, 401);
  assert.match(refused.headers['www-authenticate'], /error="invalid_token"/);
  assert.ok(!(await browser.get(PAGE)).text.includes(fields.user_code));
  assert.equal(await waiting(daemon, tokens.operator), 1);
});

test('over https: a certificate approves from the page itself alone, the cookie is secure, and commands are launched', async (t) => {
  const folder = makeFolder();
  t.after(() => removeFolder(folder));
  const authority = new Authority(folder);
  const config = signIn();
  Object.assign(config.a2a, {
    listen: 'https://127.0.0.1:0', tls: { ...authority.issueServer(), client_ca: authority.file },
    principals: [{ id: 'ops', match: { sub: 'ops' }, role: 'operator' }],
  });
  const daemon = await startDaemon(t, { config, tls: { ca: authority.pem } });
  const ops = authority.issue('ops');
  const tls = { ca: authority.pem, cert: readFileSync(ops.cert), key: readFileSync(ops.key) };
  await ask(daemon);
  const [{ fields }] = formsOf(await request(daemon.url + PAGE, { tls }));
  assert.equal(fields.csrf_token, undefined);
  const good = { ...fields, as: 'ada', action: 'approve' };
  const silent = await request(daemon.url + PAGE, {
    method: 'POST', body: new URLSearchParams(good).toString(), tls,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
  assert.equal(silent.status, 403);
  assert.match(silent.text, /does not come from this page/);
  for (const origin of ['null', daemon.url.replace('https', 'http')]) {
    assert.equal((await press({ daemon }, good, { origin }, tls)).status, 403, origin);
  }
  const unix = await beside(daemon, PAGE, good);
  assert.deepEqual([unix.status, /does not come from this page/.test(unix.text)], [403, true]);
  const outcome = await press({ daemon }, good, {}, tls);
  assert.equal(outcome.status, 200, outcome.text);

  const browser = await browse(daemon);
  assert.match(browser.set, /; Secure$/);
  assert.equal((await browser.get('/oauth2/session')).status, 200);
  const env = environment(daemon.folder, { AGENTD_URL: daemon.url, AGENTD_CA: authority.file });
  const sessions = await run(['sessions'], { env });
  assert.match(sessions.stdout, / launch +agentd-cli /, sessions.stderr);
});

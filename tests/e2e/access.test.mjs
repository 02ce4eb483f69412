// Device sign-in and the sessions that come of it (access.md sections 1 to 4).
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';

import { request, startDaemon, userMessage, users } from './harness.mjs';
import { eventually, within } from './processes.mjs';
import { assertRefused } from './refusals.mjs';
import { GRANT, ask, done, form, letIn, poll, said, signIn, stockClient } from './sign_in.mjs';

async function start(t, more) {
  const { tokens, options } = users([], signIn(more));
  const daemon = await startDaemon(t, options);
  const operator = { token: tokens.operator };
  return { daemon, operator };
}

const isSignedOut = (answer) => {
  assertRefused(answer, { http: 401, code: -31401, reason: 'UNAUTHENTICATED' });
  assert.match(answer.headers['www-authenticate'], /error="invalid_token"/);
};

test('device_flow_full_lifetime', async (t) => {
  const world = await start(t);
  const { daemon, operator } = world;
  const feed = await daemon.feed(operator);
  const client = await stockClient(daemon);
  const begun = await client.ask('user');
  assert.match(begun.user_code, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
  assert.deepEqual([begun.expires_in, begun.interval], [600, 5]);
  const page = await request(begun.verification_uri_complete);
  assert.equal(page.status, 200);
  assert.ok(page.text.includes(begun.user_code));

  const { pending } = await said(daemon, 'auth.device.pending', {}, operator);
  assert.deepEqual(pending.map(({ user_code, client_id, scope }) => [user_code, client_id, scope]),
    [[begun.user_code, 'stock', 'user']]);
  const typed = begun.user_code.toLowerCase().replace('-', ' ');
  const { approved } = await done(daemon, 'auth.device.approve', { user_code: typed, as: 'ada' }, operator);
  assert.deepEqual([approved.principal, approved.existing], ['user:ada', false]);
  const { access_token: token, token_type, expires_in } = await client.token(begun);
  assert.match(token, /^agentd_at_[0-9a-f]{64}$/);
  assert.deepEqual([token_type, expires_in], ['bearer', 8 * 3600]);

  const task = await daemon.sendTask('hello', { token });
  assert.equal((await daemon.getTask(task.id, { token })).id, task.id);
  assertRefused(await daemon.command('auth.sessions', {}, { token, via: 'rpc' }),
    { http: 403, code: -31403, reason: 'PERMISSION_DENIED', metadata: { op: 'auth.sessions' } });

  await client.giveUp(token);
  isSignedOut(await daemon.rpc('GetTask', { id: task.id }, { token }));
  const last = await feed.until('a revoked event', ({ kind, data }) => kind === 'auth' && data.event === 'revoked');
  assert.equal(last.data.name, 'ada');
  assert.deepEqual(feed.of('auth').map(({ data }) => data.event), ['pending', 'approved', 'revoked']);
  feed.close();
});

test('device_code_reuse', async (t) => {
  const { daemon, operator } = await start(t);
  const asked = await ask(daemon);
  await done(daemon, 'auth.device.approve', { user_code: asked.user_code, as: 'ada' }, operator);
  assert.equal((await poll(daemon, asked)).status, 200);
  const again = await poll(daemon, asked);
  assert.deepEqual([again.status, again.json().error], [400, 'invalid_grant']);
  assertRefused(await daemon.command('auth.device.approve', { user_code: asked.user_code, as: 'eve' },
    { ...operator, via: 'rpc' }), { code: -32602, reason: 'INVALID_COMMAND_ARGS', fields: ['message.parts[0].data.agentd.user_code'] });
});

test('device_slow_down', async (t) => {
  const { daemon } = await start(t);
  const asked = await ask(daemon);
  const errors = [];
  for (let count = 0; count < 3; ++count) errors.push((await poll(daemon, asked)).json().error);
  assert.deepEqual(errors, ['authorization_pending', 'slow_down', 'slow_down']);
});

test('device_scope_never_widens', async (t) => {
  const { daemon, operator } = await start(t);
  const { user_code } = await ask(daemon);
  assertRefused(await daemon.command('auth.device.approve', { user_code, as: 'ada', scope: 'operator' },
    { ...operator, via: 'rpc' }), { code: -32602, reason: 'INVALID_COMMAND_ARGS' });
  const wide = await ask(daemon, { scope: 'operator' });
  const { approved } = await done(daemon, 'auth.device.approve', { user_code: wide.user_code, as: 'ada', scope: 'user' },
    operator);
  assert.equal(approved.scope, 'user');
  assert.equal((await poll(daemon, wide)).json().scope, 'user');
});

test('device_flood_displaces_flooder', async (t) => {
  const { daemon, operator } = await start(t);
  const codes = [];
  for (let count = 0; count < 5; ++count) codes.push((await ask(daemon)).user_code);
  const { pending } = await said(daemon, 'auth.device.pending', {}, operator);
  assert.deepEqual(pending.map(({ user_code }) => user_code), codes.slice(1), 'the oldest of the source is gone');
});

test('what is wrong with a form is said in the terms of OAuth', async (t) => {
  const { daemon } = await start(t, { scopes: ['user'] });
  for (const [path, fields, error] of [
    ['/oauth2/device_authorization', {}, 'invalid_request'],
    ['/oauth2/device_authorization', { client_id: 'a b' }, 'invalid_request'],
    ['/oauth2/device_authorization', { client_id: 'x'.repeat(65) }, 'invalid_request'],
    ['/oauth2/device_authorization', 'client_id=a&client_id=b', 'invalid_request'],
    ['/oauth2/device_authorization', 'client_id=%zz', 'invalid_request'],
    ['/oauth2/device_authorization', { client_id: 'a', scope: 'operator' }, 'invalid_scope'],
    ['/oauth2/token', {}, 'invalid_request'],
    ['/oauth2/token', { grant_type: 'password' }, 'invalid_request'],
    ['/oauth2/token', { grant_type: 'password', client_id: 'a', device_code: 'b' }, 'unsupported_grant_type'],
    ['/oauth2/token', { grant_type: GRANT, client_id: 'a' }, 'invalid_request'],
    ['/oauth2/token', { grant_type: GRANT, client_id: 'a', device_code: 'b' }, 'invalid_grant'],
  ]) {
    const answer = await form(daemon, path, fields);
    assert.deepEqual([answer.status, answer.json().error], [400, error], `${path} ${JSON.stringify(fields)}`);
    assert.equal(answer.headers['cache-control'], 'no-store');
  }
  assert.equal((await form(daemon, '/oauth2/device_authorization', `client_id=a&x=${'y'.repeat(4096)}`)).status, 413);
  assert.equal((await request(`${daemon.url}/healthz`, { headers: { 'content-length': 2 }, body: 'no' })).status, 413);
  assert.equal((await request(`${daemon.url}/oauth2/token`)).status, 405);
  const json = await request(`${daemon.url}/oauth2/token`,
    { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' });
  assert.equal(json.json().error, 'invalid_request');
  const revoked = await form(daemon, '/oauth2/revoke', { token: 'agentd_at_nonsense' });
  assert.deepEqual([revoked.status, revoked.text], [200, '']);
});

test('without sign-in there is none of it', async (t) => {
  const daemon = await startDaemon(t);
  assert.equal((await form(daemon, '/oauth2/device_authorization', { client_id: 'a' })).status, 404);
  assertRefused(await daemon.command('auth.sessions', {}, { via: 'rpc' }),
    { code: -32602, reason: 'UNKNOWN_OP', metadata: { op: 'auth.sessions' } });
  isSignedOut(await daemon.rpc('ListTasks', {}, { token: `agentd_at_${'0'.repeat(64)}` }));
});

test('revoke_one_session_of_two', async (t) => {
  const world = await start(t);
  const { daemon, operator } = world;
  const [first, second] = [await letIn(world, 'ada'), await letIn(world, 'ada')];
  const feeds = [await daemon.feed(first), await daemon.feed(second)];
  assert.deepEqual(await done(daemon, 'auth.sessions.revoke', { sid: first.sid }, operator), { revoked: 1 });
  await feeds[0].drain();
  assert.equal(feeds[0].goodbye.reason, 'revoked');
  isSignedOut(await daemon.rpc('ListTasks', {}, first));
  const { id } = await daemon.sendTask('hello', second);
  await feeds[1].untilDone(id);
  feeds[1].close();
});

test('session_survives_restart', async (t) => {
  const world = await start(t);
  const { daemon } = world;
  const [kept, gone] = [await letIn(world, 'ada'), await letIn(world, 'bob')];
  const { id } = await daemon.sendTask('hello', kept);
  await form(daemon, '/oauth2/revoke', { token: gone.token });
  await daemon.restart({ kill: true });
  assert.equal((await daemon.getTask(id, kept)).id, id);
  isSignedOut(await daemon.rpc('ListTasks', {}, gone));
});

test('feed_revoke_is_immediate', { timeout: 60_000 }, async (t) => {
  const world = await start(t);
  const { daemon, operator } = world;
  const [session, sibling] = [await letIn(world, 'ada'), await letIn(world, 'ada')];
  let over = false;
  const load = Promise.all(Array.from({ length: 8 }, async () => {
    while (!over) await daemon.send('hello', sibling);
  }));
  const [reading, blocked, other, watching] = [await daemon.feed(session), await daemon.feed(session),
    await daemon.feed(sibling), await daemon.feed(operator)];
  blocked.stream.pause();
  await reading.until('some events', () => reading.events.length > 300);
  await done(daemon, 'auth.sessions.revoke', { sid: session.sid }, operator);
  const { seq } = await watching.until('the revocation', ({ data }) => data.event === 'revoked');
  blocked.stream.resume();
  for (const feed of [reading, blocked]) {
    const ended = await feed.drain();
    assert.ok(feed.goodbye?.reason === 'revoked' || ended === 'cut');
    for (const event of feed.events) assert.ok(event.seq < seq, 'nothing that was pushed after the revocation');
  }
  await other.until('what comes after it', (event) => event.seq > seq + 100);
  over = true;
  await load;
  for (const feed of [other, watching]) feed.close();
});

test('a stream of a task ends with the session', async (t) => {
  const world = await start(t);
  const { daemon, operator } = world;
  const session = await letIn(world, 'ada');
  const task = await daemon.sendTask('forever', { ...session, configuration: { returnImmediately: true } });
  const stream = await daemon.stream('SubscribeToTask', { id: task.id }, session);
  assert.ok(await stream.next(), stream.text);
  await done(daemon, 'auth.sessions.revoke', { name: 'ada' }, operator);
  while (await stream.next());
  assert.equal(stream.ended, 'cut');
});

test('expired_session_ends_stream', async (t) => {
  const world = await start(t);
  const { daemon } = world;
  const [short, long] = [await letIn(world, 'ada'), await letIn(world, 'ada')];
  await daemon.stop();
  // The shortest life that can be configured is five minutes.
  execFileSync('python3', ['-c', `
import sqlite3, json, sys, time
db = sqlite3.connect(sys.argv[1])
(body,) = db.execute("SELECT body FROM session WHERE sid = ?", (sys.argv[2],)).fetchone()
body = json.dumps({**json.loads(body), "expires_ms": int(time.time() * 1000) + 2000})
db.execute("UPDATE session SET body = ? WHERE sid = ?", (body, sys.argv[2]))
db.commit()`, join(daemon.stateFolder, 'agentd.db'), short.sid]);
  await daemon.start();
  const [ends, stays] = [await daemon.feed(short), await daemon.feed(long)];
  await ends.drain();
  assert.equal(ends.goodbye.reason, 'revoked');
  isSignedOut(await daemon.rpc('ListTasks', {}, short));
  await stays.untilDone((await daemon.sendTask('hello', long)).id);
  stays.close();
});

test('while the store cannot be written nobody is let in, and that is what is said', async (t) => {
  const { daemon, operator } = await start(t);
  const asked = await ask(daemon);
  // Ends with its input.
  const lock = spawn('python3', ['-c', `
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()`, join(daemon.stateFolder, 'agentd.db')], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => lock.kill());
  await within(10_000, 'the lock', once(lock.stdout, 'data'));

  const refused = ({ status, headers, text }) => {
    assert.deepEqual([status, headers['cache-control'], JSON.parse(text).error], [503, 'no-store', 'temporarily_unavailable']);
    assert.ok(!text.includes(daemon.folder), text);
  };
  // The first of them is begun and cannot be kept; from then on it is known.
  for (let count = 0; count < 3; ++count) refused(await form(daemon, '/oauth2/device_authorization', { client_id: 'test' }));
  refused(await poll(daemon, asked));
  lock.stdin.end();
  const codes = async () => (await said(daemon, 'auth.device.pending', {}, operator)).pending.map((one) => one.user_code);
  assert.ok((await codes()).includes(asked.user_code), 'what was asked before still waits');
  const message = userMessage('hello');
  await eventually('a message that is kept', async () => (await daemon.rpc('SendMessage', { message }, operator)).result);
  await done(daemon, 'auth.device.approve', { user_code: asked.user_code, as: 'ada' }, operator);
  assert.equal((await poll(daemon, asked)).status, 200);
});

test('who asks or polls too often is told to wait', async (t) => {
  const { daemon } = await start(t);
  const asked = await ask(daemon);
  for (let count = 1; count < 5; ++count) await ask(daemon);
  const refusals = [await form(daemon, '/oauth2/device_authorization', { client_id: 'test' })];
  let answer;
  for (let count = 0; count <= 31 && answer?.status !== 429; ++count) answer = await poll(daemon, asked);
  refusals.push(answer);
  for (const { status, headers, text } of refusals) {
    assert.equal(status, 429);
    assert.match(headers['retry-after'], /^[1-9]\d*$/);
    assert.equal(JSON.parse(text).error, 'slow_down');
  }
});

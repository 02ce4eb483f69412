// The audit trail: in the store always, on the feed of operators while introspection is on (docs/security.md).
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'node:test';

import { startDaemon, userMessage, users } from './harness.mjs';
import { eventually } from './processes.mjs';
import { ask, done, form, letIn, poll, signIn } from './sign_in.mjs';
import { workflows } from './workflows.mjs';

// A daemon with sign-in and the users alice and bob; bob may run no workflow that there is.
async function start(t, { introspection = true, ...more } = {}) {
  const { tokens, options } = users(['alice', 'bob'], {
    a2a: { ...signIn().a2a, introspection: { enabled: introspection } }, workflows: [workflows.pair], ...more,
  });
  options.config.a2a.principals[1].grants = ['workflow.run:none'];
  const daemon = await startDaemon(t, options);
  const [operator, alice, bob] = ['operator', 'alice', 'bob'].map((name) => ({ token: tokens[name] }));
  return { daemon, operator, alice, bob, tokens };
}

// The records in the store, oldest first.
const trail = (daemon) => JSON.parse(execFileSync('python3', ['-c', `
import json, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
print(json.dumps([json.loads(body) for (body,) in db.execute("SELECT body FROM audit ORDER BY number")]))`,
join(daemon.stateFolder, 'agentd.db')]));

const line = ({ principal, action, outcome }) => [principal, action, outcome].join(' ');
const kindsOf = (events) => new Set(events.map(({ kind }) => kind));

// One of everything that is audited, with a secret wherever a caller can put one: the secrets.
async function doEverything({ daemon, operator, alice, bob, tokens }) {
  const secret = () => `agentd_at_${randomUUID()}`;
  const secrets = Array.from({ length: 9 }, secret).concat(Object.values(tokens));
  const [text, wrong, code, name, sid, workflow, task, input, stray] = secrets;
  const via = { via: 'rpc' };
  const { id } = await daemon.sendTask(`hello ${text}`, alice);
  await daemon.sendTask('forever', { ...alice, configuration: { returnImmediately: true } }).then(async (made) => {
    await daemon.rpc('CancelTask', { id: made.id }, bob);
    await daemon.call('CancelTask', { id: made.id, metadata: { note: text } }, alice);
  });
  await daemon.rpc('CancelTask', { id: task }, alice);
  await daemon.rpc('CancelTask', { id }, alice);
  await daemon.command('workflow.run', { workflow: 'pair' }, alice);
  await daemon.command('workflow.run', { workflow: 'pair', inputs: { [input]: input } }, { ...alice, ...via });
  await daemon.command('workflow.run', { workflow: 'pair' }, { ...bob, ...via });
  await daemon.command('workflow.run', { workflow }, { ...bob, ...via });
  await daemon.command('workflow.run', { workflow }, { ...alice, ...via });
  await daemon.command('auth.sessions', {}, { ...alice, ...via });
  await daemon.rpc('ListTasks', {}, { token: wrong });

  const asked = await ask(daemon);
  secrets.push(asked.device_code);
  await done(daemon, 'auth.device.deny', { user_code: asked.user_code }, operator);
  await poll(daemon, asked);
  await daemon.command('auth.device.approve', { user_code: code, as: 'ada' }, { ...operator, ...via });
  const [first, second] = [await letIn({ daemon, operator }, 'ada'), await letIn({ daemon, operator }, 'ada')];
  secrets.push(first.token, second.token);
  await daemon.sendTask('hello', first);
  await done(daemon, 'auth.sessions.revoke', { sid: first.sid }, operator);
  await done(daemon, 'auth.sessions.revoke', { name }, operator);
  await done(daemon, 'auth.sessions.revoke', { sid }, operator);
  await form(daemon, '/oauth2/revoke', { token: second.token });
  await form(daemon, '/oauth2/revoke', { token: stray });
  return { secrets, first, second };
}

const EXPECTED = [
  'user:alice SendMessage ok', 'user:alice SendMessage ok',
  'user:bob CancelTask TASK_NOT_FOUND', 'user:alice CancelTask ok',
  'user:alice CancelTask TASK_NOT_FOUND', 'user:alice CancelTask TASK_NOT_CANCELABLE',
  'user:alice workflow.run ok', 'user:alice workflow.run ok',
  'user:bob workflow.run PERMISSION_DENIED', 'user:bob workflow.run PERMISSION_DENIED',
  'user:alice workflow.run INVALID_COMMAND_ARGS', 'user:alice auth.sessions PERMISSION_DENIED',
  ' authenticate UNAUTHENTICATED',
  ' auth.device.ask ok', 'operator auth.device.deny ok', 'operator auth.device.approve INVALID_COMMAND_ARGS',
  ' auth.device.ask ok', 'operator auth.device.approve ok', 'user:ada auth.device.token ok',
  ' auth.device.ask ok', 'operator auth.device.approve ok', 'user:ada auth.device.token ok',
  'user:ada SendMessage ok',
  'operator auth.sessions.revoke ok', 'operator auth.sessions.revoke ok', 'operator auth.sessions.revoke ok',
  'user:ada auth.sessions.give_up ok',
];

test('an operator sees who did what, with which outcome and session; nobody else does, and no secret is in it', async (t) => {
  const world = await start(t);
  const { daemon, operator, alice, bob } = world;
  const [feed, user] = [await daemon.feed(operator), await daemon.feed(alice)];
  const { secrets, first, second } = await doEverything(world);
  const { id } = await daemon.sendTask('hello', alice);
  await feed.untilDone(id);
  await user.untilDone(id);
  assert.equal(kindsOf(user.events).has('audit'), false);
  const records = feed.of('audit').map(({ data }) => data);
  assert.deepEqual(records.map(line), [...EXPECTED, 'user:alice SendMessage ok']);
  assert.deepEqual(trail(daemon), records, 'the store and the feed say the same');

  const of = (action) => records.filter((record) => record.action === action);
  const targets = (action) => of(action).map(({ target }) => target);
  assert.deepEqual(targets('workflow.run').map((target) => target?.workflow),
    ['pair', 'pair', 'pair', undefined, undefined]);
  assert.deepEqual(targets('authenticate'), [{ source: '127.0.0.1' }]);
  assert.deepEqual(targets('auth.sessions.revoke').map(({ sids }) => sids), [[first.sid], [], []]);
  assert.deepEqual(of('auth.device.token').map(({ sid }) => sid), [first.sid, second.sid]);
  assert.deepEqual(of('auth.sessions.give_up').map(({ sid, target }) => [sid, target.sid]), [[second.sid, second.sid]]);
  assert.deepEqual(records.filter(({ principal, action }) => principal === 'user:ada' && action === 'SendMessage')
    .map(({ role, sid }) => [role, sid]), [['user', first.sid]]);
  for (const { action, target } of records.filter(({ action, outcome }) => action === 'SendMessage' && outcome === 'ok')) {
    assert.ok(await daemon.getTask(target.task, operator), action);
  }
  assert.ok(secrets.length > 12);
  for (const secret of secrets) {
    assert.equal(JSON.stringify(records).includes(secret), false, `a secret in the trail: ${secret}`);
  }
  for (const reader of [feed, user]) reader.close();
  const late = await daemon.feed({ ...bob, fromSeq: 0 });
  await daemon.sendTask('hello', bob).then((task) => late.untilDone(task.id));
  assert.equal(kindsOf(late.events).has('audit'), false);
  late.close();
});

test('feed_introspection_off_hides_audit', async (t) => {
  const world = await start(t, { introspection: false });
  const { daemon, operator } = world;
  const live = await daemon.feed(operator);
  await doEverything(world);
  const { id } = await daemon.sendTask('hello', operator);
  await live.untilDone(id);
  const replayed = await daemon.feed({ ...operator, fromSeq: 0 });
  await replayed.untilDone(id);
  for (const feed of [live, replayed]) {
    assert.equal(kindsOf(feed.events).has('audit'), false);
    feed.close();
  }
  assert.deepEqual(trail(daemon).map(line), [...EXPECTED, 'operator SendMessage ok'], 'the store has it all the same');
});

test('guesses that are over the limit of failures do not fill the trail', async (t) => {
  const world = await start(t);
  const { daemon } = world;
  const session = await letIn(world, 'ada');  // which is served from whatever address
  const before = trail(daemon).length;
  const statuses = [];
  for (let count = 0; count < 60 && statuses.at(-1) !== 429; ++count) {
    statuses.push((await daemon.rpc('ListTasks', {}, { token: 'wrong' })).status);
  }
  assert.equal(statuses.at(-1), 429);
  await daemon.sendTask('hello', session);
  const guesses = statuses.slice(0, -1).map(() => ' authenticate UNAUTHENTICATED');
  assert.deepEqual(trail(daemon).slice(before).map(line), [...guesses, 'user:ada SendMessage ok']);
});

test('a restart keeps the newest records, as many as the retention says', async (t) => {
  const { daemon, alice, bob } = await start(t, { store: { retention: { audit: { keep_last: 2 } } } });
  for (const who of [alice, alice, bob, alice]) await daemon.sendTask('hello', who);
  await daemon.restart({ kill: true });
  await eventually('two records', () => trail(daemon).length === 2);
  assert.deepEqual(trail(daemon).map(line), ['user:bob SendMessage ok', 'user:alice SendMessage ok']);
});

test('nothing that a session asked for is done after it was revoked', async (t) => {
  const { daemon, operator } = await start(t);
  const session = await letIn({ daemon, operator }, 'ada');
  const send = () => daemon.rpc('SendMessage',
    { message: userMessage('hello'), configuration: { returnImmediately: true } }, session);
  const many = (count) => Array.from({ length: count }, send);
  const answers = [...many(100), done(daemon, 'auth.sessions.revoke', { sid: session.sid }, operator), ...many(300)];
  await Promise.all(answers);
  await daemon.stop();
  const records = trail(daemon);
  const revoked = records.findIndex(({ action }) => action === 'auth.sessions.revoke');
  assert.notEqual(revoked, -1);
  assert.deepEqual(records.slice(revoked).filter(({ sid }) => sid === session.sid), []);
});

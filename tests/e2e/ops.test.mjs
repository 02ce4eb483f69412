// Every op of the command extension, by everybody, with every refusal in its order (command.md sections 1 and 3).
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { startDaemon, users } from './harness.mjs';
import { eventually } from './processes.mjs';
import { assertRefused } from './refusals.mjs';
import { assertValid, bundle, validator } from './schemas.mjs';
import { done, said, signIn } from './sign_in.mjs';
import { workflows } from './workflows.mjs';

const AGENTS = [
  { id: 'robot', role: 'agent', match: { bearer_ref: { env: 'ROBOT_TOKEN' } } },
  { id: 'granted', role: 'agent', grants: ['*'], match: { bearer_ref: { env: 'GRANTED_TOKEN' } } },
];

// Callers by name, as options of a call: operator, alice, bob (users), robot (an agent), granted (one with every grant).
async function start(t, { introspection = true, ...more } = {}) {
  const { tokens, options } = users(['alice', 'bob'], {
    a2a: { ...signIn().a2a, introspection: { enabled: introspection } },
    workflows: [workflows.pair, workflows.sleeper], ...more,
  });
  Object.assign(options.env, { ROBOT_TOKEN: 'robot', GRANTED_TOKEN: 'granted' });
  options.config.a2a.principals.push(...AGENTS);
  const daemon = await startDaemon(t, options);
  return { daemon, operator: { token: tokens.operator }, alice: { token: tokens.alice }, bob: { token: tokens.bob },
    robot: { token: 'robot' }, granted: { token: 'granted' } };
}

// What each op needs, who may run it beside the operator, and what comes of these arguments: they name what is not there.
const GONE = 'gone';
const OPS = [
  { op: 'status', args: {}, who: ['alice', 'robot', 'granted'] },
  { op: 'config', args: {}, who: [] },
  { op: 'workflow.run', args: { workflow: 'pair' }, who: ['alice', 'robot', 'granted'] },
  { op: 'workflow.status', args: { run: 'run-0' }, who: ['alice', 'robot', 'granted'], comes: GONE },
  { op: 'workflow.cancel', args: { run: 'run-0' }, who: ['alice', 'granted'], comes: GONE },
  { op: 'workflow.signal', args: { name: 'go', payload: [1], run: 'run-0' }, who: ['granted'], comes: GONE },
  { op: 'subagent.send', args: { handle: 'h', message: 'm' }, who: ['alice', 'granted'], comes: GONE },
  { op: 'subagent.kill', args: { handle: 'h' }, who: ['granted'], comes: GONE },
  { op: 'subagent.status', args: { handle: 'h' }, who: ['alice', 'granted'], comes: GONE },
  { op: 'plan.get', args: {}, who: ['alice', 'granted'], comes: GONE },
  { op: 'conversation.get', args: { id: 'ctx-0' }, who: ['alice', 'granted'], comes: GONE, gated: true },
  { op: 'run.get', args: { run: 'run-0' }, who: ['alice', 'granted'], comes: GONE, gated: true },
  { op: 'subagent.get', args: { handle: 'h' }, who: ['alice', 'granted'], comes: GONE, gated: true },
  { op: 'debug.events', args: {}, who: [], gated: true },
  { op: 'admin.pause', args: { run: 'run-0' }, who: [], comes: GONE },
  { op: 'admin.resume', args: { run: 'run-0' }, who: [], comes: GONE },
  { op: 'admin.cancel', args: { run: 'run-0' }, who: [], comes: GONE },
  { op: 'admin.set', args: { path: 'a2a.introspection.enabled', value: true }, who: [], moves: true },
  { op: 'auth.device.pending', args: {}, who: [] },
  { op: 'auth.device.approve', args: { user_code: 'BBBB-BBBB', as: 'x' }, who: [], comes: 'args' },
  { op: 'auth.device.deny', args: { all: true }, who: [] },
  { op: 'auth.sessions', args: {}, who: [] },
  { op: 'auth.sessions.revoke', args: { all: true }, who: [] },
  { op: 'admin.drain', args: {}, who: [], ends: true },  // last: nothing comes after it
];

test('every op is in the table of this test, and in its bundle', () => {
  assert.deepEqual(Object.keys(bundle('command').$defs.ops).sort(), OPS.map(({ op }) => op).sort());
});

for (const introspection of [true, false]) {
  test(`grants_never_reach_operator_ops: every op for every role, introspection ${introspection ? 'on' : 'off'}`, async (t) => {
    const world = await start(t, { introspection });
    const { daemon } = world;
    for (const { op, args, who, comes, gated, moves, ends } of OPS) {
      for (const name of ['alice', 'robot', 'granted', 'operator']) {
        const run = (over = {}) => daemon.command(op, { ...args, ...over }, { ...world[name], via: 'rpc' });
        const what = `${op} by ${name}`;
        // Arguments are looked at before anybody is told that the op is not his.
        assertRefused(await run({ surplus: 1 }), {
          code: -32602, reason: 'INVALID_COMMAND_ARGS', metadata: { op }, fields: ['message.parts[0].data.agentd.surplus'],
        });
        if (moves && !introspection) continue;  // it would turn on what is off here
        const answer = await run();
        if (name !== 'operator' && !who.includes(name)) {
          assertRefused(answer, { http: 403, code: -31403, reason: 'PERMISSION_DENIED', metadata: { op } });
        } else if (gated && !introspection) {
          assertRefused(answer, { code: -32004, reason: 'INTROSPECTION_DISABLED', domain: 'agentd.dev', metadata: { op } });
        } else if (comes === GONE) {
          assertRefused(answer, { code: -32001, reason: 'TASK_NOT_FOUND' });
        } else if (comes === 'args') {
          assertRefused(answer, { code: -32602, reason: 'INVALID_COMMAND_ARGS', metadata: { op } });
        } else {
          assert.ok(answer.status === 200 && answer.result, `${what}: ${answer.text}`);
          const { reply } = bundle('command').$defs.ops[op];
          const part = answer.result.message?.parts[0] ?? answer.result.task.artifacts?.[0].parts[0];
          assert.ok(reply in answer.result, what);
          assertValid(validator('command', `/$defs/ops/${op}/result`), part.data);
        }
        assert.ok(daemon.program.alive || ends, what);
      }
    }
    assert.deepEqual(await daemon.program.exited, { code: 0, signal: null });
  });
}

test('the extended card names what a caller may run here', async (t) => {
  const world = await start(t, { introspection: false });
  const COMMAND = 'https://agentd.dev/a2a/ext/command';
  const opsFor = async (name) => (await world.daemon.call('GetExtendedAgentCard', {}, world[name]))
    .capabilities.extensions.find(({ uri }) => uri === COMMAND).params.ops.map(({ op }) => op);
  for (const name of ['alice', 'robot', 'granted', 'operator']) {
    const expected = OPS.filter(({ who, gated }) => (name === 'operator' || who.includes(name)) && !gated);
    assert.deepEqual((await opsFor(name)).sort(), expected.map(({ op }) => op).sort(), name);
  }
  await done(world.daemon, 'admin.set', { path: 'a2a.introspection.enabled', value: true }, world.operator);
  assert.ok((await opsFor('alice')).includes('run.get'));
});

test('what is somebody else\'s is what is not there', async (t) => {
  const world = await start(t);
  const { daemon, operator, alice, bob } = world;
  const { task } = await daemon.command('workflow.run', { workflow: 'pair' }, alice);
  const [{ id: run }] = (await said(daemon, 'status', {}, alice)).runs;
  await daemon.sendTask('hello', { ...alice, message: { contextId: 'hers' } });
  const [{ id: conversation }] = (await said(daemon, 'status', {}, alice)).conversations;
  assert.ok(task && run && conversation);
  for (const [op, key, id] of [
    ['workflow.status', 'run', run], ['workflow.cancel', 'run', run], ['run.get', 'run', run],
    ['conversation.get', 'id', conversation], ['conversation.get', 'id', 'hers'],
  ]) {
    const ask = async (value) => {
      const { status, headers, error } = await daemon.command(op, { [key]: value }, { ...bob, via: 'rpc', id: 7 });
      const { date, ...others } = headers;
      return { status, error, headers: others, dated: date !== undefined };
    };
    assert.deepEqual(await ask(id), await ask(`${id.slice(0, -4)}0000`), `${op} ${id}`);
  }
  assert.equal((await said(daemon, 'run.get', { run }, operator)).run.id, run);
});

test('the reads', async (t) => {
  const { daemon, operator, alice } = await start(t);
  const { task } = await daemon.command('workflow.run', { workflow: 'pair', inputs: { who: 'x'.repeat(5000) } }, alice);
  const { runs } = await said(daemon, 'workflow.status', {}, alice);
  assert.deepEqual(runs.map(({ workflow, status, error }) => [workflow, status, error]), [['pair', 'completed', null]]);
  const [{ run: id }] = runs;
  assert.deepEqual((await said(daemon, 'workflow.status', { run: id }, alice)).runs, runs);
  const { run } = await said(daemon, 'run.get', { run: id }, alice);
  assert.deepEqual([run.task, run.principal, Object.keys(run.steps)], [task.id, 'user:alice', ['first', 'report', 'second']]);
  assert.deepEqual([run.steps.first.status, run.steps.first.attempt, run.steps.first.wait], ['done', 1, null]);
  assert.match(run.steps.first.output, /…\(\+\d+ bytes\)$/);
  assert.ok(run.steps.first.output.length < 2100 && run.steps.first.finished >= run.steps.first.started);

  const long = 'y'.repeat(5000);
  for (const text of ['hello', `hello ${long}`, 'hello again']) {
    await daemon.sendTask(text, { ...alice, message: { contextId: 'hers' } });
  }
  const [{ id: known }] = (await said(daemon, 'status', {}, alice)).conversations;
  const { conversation } = await said(daemon, 'conversation.get', { id: known }, operator);
  assert.deepEqual((await said(daemon, 'conversation.get', { id: 'hers' }, alice)).conversation, conversation);
  assert.deepEqual([conversation.total_messages, conversation.turns, conversation.principal, conversation.task],
    [3, 3, 'user:alice', null]);
  assert.deepEqual(conversation.messages.map(({ parts }) => parts[0].text.length < 4200), [true, true, true]);
  assert.match(conversation.messages[1].parts[0].text, /^hello y+…\(\+\d+ bytes\)$/);
  const newest = (await said(daemon, 'conversation.get', { id: known, limit: 1 }, alice)).conversation;
  assert.deepEqual(newest.messages.map(({ parts }) => parts[0].text), ['hello again']);

  const log = await said(daemon, 'debug.events', {}, operator);
  assert.ok(log.events.some(({ msg, level }) => msg === 'listening' && level === 'info'));
  assert.deepEqual([log.dropped, log.oldest_seq], [0, 1]);
  const from = await said(daemon, 'debug.events', { after: log.events[0].seq, limit: 1, prefix: 'listen' }, operator);
  assert.ok(from.events.every(({ msg, seq }) => msg.startsWith('listen') && seq > log.events[0].seq));
  assert.equal((await said(daemon, 'debug.events', { level: 'error' }, operator)).events.length, 0);
});

const isPhase = (task, phase) => ({ kind, data }) => kind === 'activity' && data.task === task && data.phase === phase;

test('pause_resume_drain', async (t) => {
  const { daemon, operator, alice } = await start(t);
  const feed = await daemon.feed(operator);
  const now = { configuration: { returnImmediately: true } };
  assert.deepEqual(await done(daemon, 'admin.pause', { reason: 'lunch' }, operator), { ok: true, state: 'paused', reason: 'lunch' });
  await done(daemon, 'admin.pause', {}, operator);  // once more is nothing
  const turn = await daemon.sendTask('hello', { ...alice, ...now });
  await feed.until('a turn that waits', isPhase(turn.id, 'waiting'));
  const { task: ofRun } = await daemon.command('workflow.run', { workflow: 'pair' }, { ...alice, ...now });
  const { task: doomed } = await daemon.command('workflow.run', { workflow: 'pair' }, { ...alice, ...now });
  assert.equal((await said(daemon, 'status', {}, alice)).paused, true);
  assert.equal((await daemon.call('CancelTask', { id: doomed.id }, alice)).status.state, 'TASK_STATE_CANCELED');
  assert.equal(feed.of('step').length, 0, 'no step starts');
  assert.deepEqual(await done(daemon, 'admin.resume', {}, operator), { ok: true, state: 'running' });
  await Promise.all([turn, ofRun].map(({ id }) => daemon.taskIn(id, 'COMPLETED', alice)));
  await feed.untilDone(ofRun.id);
  assert.deepEqual(feed.of('lifecycle').map(({ data }) => data), [{ paused: true, reason: 'lunch' }, { paused: false }]);

  // One run alone: its first step goes on, and the next does not start, not even in the next life.
  const { task } = await daemon.command('workflow.run', { workflow: 'sleeper' }, { ...alice, ...now });
  const { runs } = await said(daemon, 'workflow.status', {}, alice);
  const { run } = runs.find(({ status }) => status === 'running');
  assert.deepEqual(await done(daemon, 'admin.pause', { run }, operator), { ok: true, paused: run });
  await feed.until('the run paused', ({ kind, data }) => kind === 'run' && data.id === run && data.status === 'paused');
  feed.close();
  await daemon.restart({ kill: true });
  const { runs: [after] } = await said(daemon, 'workflow.status', { run }, alice);
  assert.equal(after.status, 'paused');
  assert.deepEqual(await done(daemon, 'admin.resume', { run }, operator), { ok: true, resumed: run });
  await eventually('its step at work again', async () => (await said(daemon, 'status', {}, operator)).children.length > 0);
  assert.deepEqual(await done(daemon, 'admin.cancel', { run }, operator), { ok: true, cancelled: run });
  await daemon.taskIn(task.id, 'CANCELED', alice);
  assertRefused(await daemon.command('workflow.cancel', { run }, { ...alice, via: 'rpc' }), { code: -32002, reason: 'TASK_NOT_CANCELABLE' });
});

test('drain_serves_reads', async (t) => {
  const { daemon, operator, alice } = await start(t);
  const feed = await daemon.feed(alice);
  const working = await daemon.sendTask('forever', { ...alice, configuration: { returnImmediately: true } });
  assert.deepEqual(await done(daemon, 'admin.drain', {}, operator), { ok: true, state: 'draining', reason: 'operator request' });
  const { data } = await feed.until('draining', ({ kind }) => kind === 'lifecycle');
  assert.deepEqual(data, { draining: true, reason: 'operator request' });
  const status = await said(daemon, 'status', {}, alice);
  assert.equal(status.draining, true);
  assert.equal((await daemon.getTask(working.id, alice)).id, working.id);
  const late = await daemon.feed({ ...alice, fromSeq: 0 });
  for (const refused of [
    await daemon.rpc('SendMessage', { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hello' }] } }, alice),
    await daemon.command('workflow.run', { workflow: 'pair' }, { ...alice, via: 'rpc' }),
    await daemon.command('admin.pause', {}, { ...operator, via: 'rpc' }),
  ]) assertRefused(refused, { code: -32603, reason: 'DRAINING' });
  // Its patience ends with the first signal's, and that with the second signal.
  process.kill(daemon.pid, 'SIGTERM');
  process.kill(daemon.pid, 'SIGTERM');
  assert.deepEqual(await daemon.program.exited, { code: 0, signal: null });
  for (const reader of [feed, late]) reader.close();
  await daemon.start();
  assert.equal((await daemon.getTask(working.id, alice)).status.state, 'TASK_STATE_WORKING', 'the next life goes on with it');
});

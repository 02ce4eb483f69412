// Ops that workflows declare (command.md section 3): who is told of them, who may run them, and what comes of it.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';

import { ANNOTATIONS, COMMAND } from './contract.mjs';
import { commandMessage, request, startDaemon, twoUsers } from './harness.mjs';
import { run as runProgram } from './processes.mjs';
import { assertRefused } from './refusals.mjs';
import { assertValid, validator } from './schemas.mjs';
import { said } from './sign_in.mjs';
import { workflows } from './workflows.mjs';

const inputs = { type: 'object', properties: { n: { type: 'integer' } }, additionalProperties: false };
// A workflow whose output is its inputs, with an op.
const echoing = (name, a2a, more = {}) => ({
  name, start: { a2a }, ...more, steps: { all: { finish: { output: { inputs: '${{ .inputs }}' } } } },
});
const declared = {
  open: echoing('open', { command: 'ops.open' }),
  users: echoing('users', { command: 'ops.users', roles: ['user'] }, { inputs }),
  agents: echoing('agents', { command: 'ops.agents', roles: ['agent'], schema: { ...inputs, required: ['n'] } }),
  closed: echoing('closed', { command: 'ops.closed', roles: ['operator'] }),
};

// alice is a user, bob one who may run `open` alone; robot is an agent, granted one to whom every op is granted.
async function start(t, more = Object.values(declared)) {
  const { tokens, options } = twoUsers({ workflows: [...more, workflows.sleeper] });
  options.config.a2a.principals[1].grants = ['workflow.run:open'];
  for (const [id, grants] of [['robot', []], ['granted', ['ops.*']]]) {
    options.env[`${id.toUpperCase()}_TOKEN`] = tokens[id] = id;
    options.config.a2a.principals.push({ id, role: 'agent', grants, match: { bearer_ref: { env: `${id.toUpperCase()}_TOKEN` } } });
  }
  const daemon = await startDaemon(t, options);
  return { daemon, callers: Object.fromEntries(Object.entries(tokens).map(([name, token]) => [name, { token }])) };
}

const paramsOf = (card) => card.capabilities.extensions.find(({ uri }) => uri === COMMAND).params;
const commandsFor = async (daemon, caller) => (
  paramsOf(await daemon.call('GetExtendedAgentCard', undefined, caller)).commands);
const publicParams = async (daemon) => paramsOf((await request(`${daemon.url}/.well-known/agent-card.json`)).json());

// Who may run which of `declared`, in its order.
const MAY = {
  operator: ['open', 'users', 'agents', 'closed'],
  alice: ['open', 'users'],
  bob: ['open'],
  robot: ['open', 'agents'],
  granted: ['open', 'users', 'agents'],
};

test('an op that a workflow declares is on the extended card of who may run it, and runs for them alone', async (t) => {
  const { daemon, callers } = await start(t);
  assert.deepEqual(Object.keys(await publicParams(daemon)).sort(), ['dataPartKey', 'ops', 'schema']);
  for (const [name, mine] of Object.entries(MAY)) {
    const commands = await commandsFor(daemon, callers[name]);
    assert.deepEqual(commands.map(({ op }) => op), mine.map((workflow) => `ops.${workflow}`), name);
    for (const workflow of Object.keys(declared)) {
      const op = `ops.${workflow}`;
      const answer = await daemon.command(op, { n: 7 }, { ...callers[name], via: 'rpc', extensions: [COMMAND, ANNOTATIONS] });
      if (!mine.includes(workflow)) {
        assertRefused(answer, { http: 403, code: -31403, reason: 'PERMISSION_DENIED', metadata: { op } });
        continue;
      }
      const { task } = answer.result;
      assert.equal(task.status.state, 'TASK_STATE_COMPLETED', `${op} by ${name}`);
      const annotations = task.metadata[ANNOTATIONS];
      assertValid(validator('task-annotations'), annotations);
      assert.deepEqual([annotations.command, annotations.link.kind], [op, 'run']);
      const [{ artifactId, parts }] = task.artifacts;
      assert.deepEqual([artifactId, parts[0].data], [`${task.id}.result`, { inputs: { n: 7 } }]);
      const { runs: [run] } = await said(daemon, 'workflow.status', { run: annotations.link.id }, callers[name]);
      assert.deepEqual([run.workflow, run.status], [workflow, 'completed']);
    }
  }
  assert.deepEqual(await commandsFor(daemon, callers.operator), [
    { op: 'ops.open', workflow: 'open' },
    { op: 'ops.users', workflow: 'users', schema: inputs },
    { op: 'ops.agents', workflow: 'agents', schema: { ...inputs, required: ['n'] } },
    { op: 'ops.closed', workflow: 'closed' },
  ]);
  assert.match((await daemon.command('ops.users', {}, { ...callers.bob, via: 'rpc' })).error.message,
    /^you may not run the workflow "users"/);
  const starts = (await said(daemon, 'status', {}, callers.operator)).workflows.map((row) => [row.name, row.starts]);
  assert.deepEqual(starts, [['agents', ['a2a']], ['closed', ['a2a']], ['open', ['a2a']], ['sleeper', []], ['users', ['a2a']]]);
});

test('its arguments are looked at before anybody is told that the op is not theirs', async (t) => {
  const { daemon, callers } = await start(t);
  const refused = async (op, args, name, fields) => assertRefused(
    await daemon.command(op, args, { ...callers[name], via: 'rpc' }),
    { code: -32602, reason: 'INVALID_COMMAND_ARGS', metadata: { op }, fields: fields.map((field) => `message.parts[0].data.agentd.${field}`) });
  for (const name of ['alice', 'robot']) {
    await refused('ops.users', { n: 'seven', more: 1 }, name, ['n', 'more']);  // the workflow's inputs
    await refused('ops.agents', {}, name, ['n']);  // the op's schema
  }
  assert.deepEqual(await daemon.allTasks({}, callers.operator), []);
});

test('it answers at once when asked to, streams, runs once with a key, and its task is cancelled like any other', async (t) => {
  const slow = { ...workflows.sleeper, name: 'slow', start: { a2a: { command: 'slow' } } };
  const { daemon, callers: { alice } } = await start(t, [declared.open, slow]);
  const { task } = await daemon.command('slow', {}, { ...alice, configuration: { returnImmediately: true } });
  assert.notEqual(task.status.state, 'TASK_STATE_COMPLETED');
  assert.equal((await daemon.call('CancelTask', { id: task.id }, alice)).status.state, 'TASK_STATE_CANCELED');

  const stream = await daemon.stream('SendStreamingMessage', { message: commandMessage('ops.open', { n: 1 }) },
    { ...alice, extensions: [COMMAND] });
  const results = await stream.results();
  assert.deepEqual([Object.keys(results[0]), results.at(-1).statusUpdate.status.state], [['task'], 'TASK_STATE_COMPLETED']);

  const message = commandMessage('ops.open', { n: 2 });
  const once = () => daemon.call('SendMessage', { message },
    { ...alice, extensions: [COMMAND], headers: { 'idempotency-key': 'k' } });
  assert.equal((await once()).task.id, (await once()).task.id);
});

test('a reload brings an op and takes it away', async (t) => {
  const { daemon, callers: { alice } } = await start(t, []);
  const feed = await daemon.feed(alice);
  const reload = async (workflows) => {
    writeFileSync(daemon.configFile, JSON.stringify({ ...daemon.config, workflows }));
    await feed.until('a config event', ({ kind }) => kind === 'config');
  };
  const run = () => daemon.command('ops.open', {}, { ...alice, via: 'rpc' });
  const isUnknown = (answer) => (
    assertRefused(answer, { code: -32602, reason: 'UNKNOWN_OP', metadata: { op: 'ops.open' } }));
  isUnknown(await run());
  assert.equal(await commandsFor(daemon, alice), undefined, 'what is empty is left out');
  await reload([declared.open]);
  assert.equal((await run()).result.task.status.state, 'TASK_STATE_COMPLETED');
  assert.deepEqual(await commandsFor(daemon, alice), [{ op: 'ops.open', workflow: 'open' }]);
  await reload([]);
  isUnknown(await run());
  assert.equal(await commandsFor(daemon, alice), undefined);
  feed.close();
});

test('an op that is the daemon\'s own, or another workflow\'s, is a fault of the configuration', async (t) => {
  const { daemon } = await start(t, []);
  for (const [those, fault] of [
    [[echoing('one', { command: 'status' })], /start\.a2a\.command: is an op of the daemon itself/],
    [[echoing('one', { command: '_instance.stop' })], /start\.a2a\.command: "_instance\.stop" is no name of an op/],
    [[echoing('one', { command: 'go' }), echoing('two', { command: 'go' })], /start\.a2a\.command: is that of another workflow too/],
    [[echoing('one', { command: 'go', schema: { unevaluatedItems: false } })], /start\.a2a\.schema: .*unevaluatedItems/],
    [[{ ...declared.open, start: { schedule: 'daily' } }], /start\.schedule: unknown key; expected one of a2a/],
  ]) {
    writeFileSync(daemon.configFile, JSON.stringify({ ...daemon.config, workflows: those }));
    const { code, stderr } = await runProgram(['check', '-c', daemon.configFile], { env: daemon.env, cwd: daemon.folder });
    assert.equal(code, 2);
    assert.match(stderr, fault);
  }
});

test('the bundle lets an op pass that it does not know', () => {
  assertValid(validator('command'), { agentd: { op: 'ops.open', n: 7 } });
});

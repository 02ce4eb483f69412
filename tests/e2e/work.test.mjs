// Workflow runs, started by the command extension (command.md sections 1 and 2, runtime.md).
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';

import { ANNOTATIONS, COMMAND } from './contract.mjs';
import { assertCausal } from './feed_reader.mjs';
import { commandMessage, recordedProcesses, startDaemon, twoProcesses, twoUsers, userMessage } from './harness.mjs';
import { allGone } from './processes.mjs';
import { assertRefused } from './refusals.mjs';
import { workflows } from './workflows.mjs';

const daemon = await startDaemon(undefined, { config: { workflows: Object.values(workflows) } });

const start = (workflow, options) => daemon.command('workflow.run', { workflow }, {
  configuration: { returnImmediately: true }, ...options,
});

// The whole of one run on the feed, read beside it: {task, feed}.
async function watched(workflow, inputs) {
  const feed = await daemon.feed({ fromSeq: 0 });
  await feed.untilSeq(feed.hello.seq);
  feed.events.length = 0;
  const { task } = await daemon.command('workflow.run', { workflow, inputs });
  await feed.untilDone(task.id);
  feed.close();
  return { task, feed, run: feed.of('run').at(-1).data };
}

test('a run blocks until it ends; its output is the artifact <taskId>.result', async () => {
  const { task } = await daemon.command('workflow.run', { workflow: 'pair', inputs: { who: 'Ada' } },
    { extensions: [COMMAND, ANNOTATIONS] });
  assert.equal(task.status.state, 'TASK_STATE_COMPLETED');
  const result = task.artifacts.find(({ artifactId }) => artifactId === `${task.id}.result`);
  assert.deepEqual(result.parts.map(({ data }) => data), [{ said: 'for Ada again', count: 2 }]);
  assert.deepEqual(result.extensions, [COMMAND]);
  const file = task.artifacts.find(({ name }) => name === 'report.md');
  assert.deepEqual([file.parts[0].text, file.parts[0].mediaType], ['# for Ada again', 'text/markdown']);
  const annotations = task.metadata[ANNOTATIONS];
  assert.equal(annotations.link.kind, 'run');
  assert.equal(annotations.command, 'workflow.run');
});

test('a run shows on the feed as run, step and child events that begin, go on and end', async () => {
  const { task, feed, run } = await watched('pair');
  assertCausal(feed.events);
  const runs = feed.of('run').map(({ data }) => data);
  assert.deepEqual([run.status, run.task, run.workflow, run.error], ['completed', task.id, 'pair', null]);
  assert.deepEqual(run.output, { said: 'for nobody again', count: 2 });
  assert.deepEqual(run.steps, { done: 3 });
  assert.ok(run.finished >= run.created && runs[0].finished === null);
  for (const step of ['first', 'second', 'report']) {
    const events = feed.of('step', (data) => data.step === step).map(({ data }) => data);
    assert.deepEqual(events.map(({ phase, attempt }) => [phase, attempt]), [['start', 1], ['done', 1]], step);
    assert.equal(events[1].status, 'done');
  }
  const children = feed.of('child', ({ kind }) => kind === `step:${run.id}/first`);
  assert.ok(children.length > 0 && children[0].data.pid > 1);
  const { node } = children[0].data;
  assert.equal(feed.of('child.removed', ({ id }) => id === String(node)).length, 1);
});

test('a turn of the agent shows as conversation, activity and status', async () => {
  const feed = await daemon.feed();
  const contextId = randomUUID();
  const { id } = await daemon.sendTask('slow', { message: { contextId } });
  await feed.untilDone(id);
  await feed.until('a status', ({ kind }) => kind === 'status').catch((error) => {
    if (feed.of('status').length === 0) throw error;
  });
  feed.close();
  const activity = feed.of('activity', ({ task }) => task === id).map(({ data }) => data);
  assert.equal(activity[0].phase, 'thinking');
  assert.equal(feed.of('activity.removed', (data) => data.id === activity[0].id).length, 1);
  assert.ok(feed.of('conversation').some(({ data }) => data.contextId === contextId && data.turns >= 0));
});

test('a step that fails makes its task FAILED and says which and why', async () => {
  const { task, feed, run } = await watched('broken');
  assert.equal(task.status.state, 'TASK_STATE_FAILED');
  const { text } = task.status.message.parts[0];
  assert.match(text, /work/);
  assert.match(text, /\b3\b/);
  assert.match(text, /it went boom/);
  assert.equal(run.status, 'failed');
  assert.match(run.error, /boom|\b3\b/);
  const [done] = feed.of('step', ({ phase }) => phase === 'done');
  assert.equal(done.data.status, 'failed');
  assert.match(done.data.err, /boom/);
});

test('a step over its time is ended with its processes', async () => {
  const { task, feed } = await watched('late');
  assert.equal(task.status.state, 'TASK_STATE_FAILED');
  assert.match(task.status.message.parts[0].text, /time|300/i);
  assert.deepEqual(feed.of('step', ({ phase }) => phase === 'done').map(({ data }) => data.status), ['timeout']);
  await allGone(recordedProcesses(daemon));
});

test('a step that is tried again has one pair of events for each attempt', async () => {
  const { task, feed, run } = await watched('third');
  assert.equal(task.status.state, 'TASK_STATE_COMPLETED');
  const attempts = feed.of('step', (data) => data.run === run.id).map(({ data }) => [data.phase, data.attempt]);
  assert.deepEqual(attempts, [['start', 1], ['done', 1], ['start', 2], ['done', 2], ['start', 3], ['done', 3]]);
});

test('cancel ends a run within two seconds, its children included', async () => {
  const { task } = await start('sleeper');
  const children = await twoProcesses(daemon);
  const began = Date.now();
  await daemon.call('CancelTask', { id: task.id });
  await daemon.taskIn(task.id, 'CANCELED', { ms: 2_000 });
  await allGone(children, 2_000 - (Date.now() - began));
});

test('the caller of a streaming run sees the task, its artifact and its end', async () => {
  const stream = await daemon.stream('SendStreamingMessage',
    { message: commandMessage('workflow.run', { workflow: 'pair' }) }, { extensions: [COMMAND] });
  const results = await stream.results();
  assert.ok(results[0].task);
  const artifact = results.findIndex(({ artifactUpdate }) => artifactUpdate?.artifact.artifactId.endsWith('.result'));
  const end = results.findIndex(({ statusUpdate }) => statusUpdate?.status.state === 'TASK_STATE_COMPLETED');
  assert.ok(artifact > 0 && end > artifact, JSON.stringify(results.map((result) => Object.keys(result))));
});

test('a read answers with a message and leaves nothing behind', async () => {
  const contextId = randomUUID();
  const feed = await daemon.feed();
  const params = { message: commandMessage('status', {}, { contextId }) };
  const { message } = await daemon.call('SendMessage', params, { extensions: [COMMAND] });
  assert.deepEqual([message.role, message.contextId, message.extensions], ['ROLE_AGENT', contextId, [COMMAND]]);
  assert.equal(message.parts.length, 1);
  assert.equal(message.parts[0].mediaType, 'application/json');
  assert.equal(message.parts[0].data.instance, 'tested');
  const stream = await daemon.stream('SendStreamingMessage', params, { extensions: [COMMAND] });
  assert.deepEqual((await stream.results()).map((result) => Object.keys(result)), [['message']]);
  assert.equal((await daemon.call('ListTasks', { contextId })).totalSize, 0);
  const { id } = await daemon.sendTask('hello');
  await feed.untilDone(id);
  feed.close();
  assert.equal(feed.of('conversation', (data) => data.contextId === contextId).length, 0);
  assert.equal(feed.of('task', ({ task }) => task.contextId === contextId).length, 0);
});

test('the envelope of a command is checked in order, each miss with its reason', async () => {
  const good = { workflow: 'pair' };
  const part = (op, args = {}) => ({ data: { agentd: { op, ...args } } });
  const rows = [
    ['not activated', commandMessage('status'), { extensions: [] },
      { reason: 'EXTENSION_NOT_ACTIVATED', metadata: { extension: COMMAND } }],
    ['not marked', commandMessage('status', {}, { extensions: [] }), {}, { reason: 'EXTENSION_NOT_MARKED' }],
    ['two commands', commandMessage('status', {}, { parts: [part('status'), part('status')] }), {},
      { reason: 'COMMAND_ENVELOPE_AMBIGUOUS' }],
    ['a task id', commandMessage('workflow.run', good, { taskId: randomUUID() }), {},
      { reason: 'COMMAND_TASK_ID', metadata: { op: 'workflow.run' } }],
    ['output modes', commandMessage('status'), { configuration: { acceptedOutputModes: ['text/plain'] } },
      { code: -32005, reason: 'CONTENT_TYPE_NOT_SUPPORTED', domain: 'a2a-protocol.org' }],
    ['unknown op', commandMessage('no.such.op'), {}, { reason: 'UNKNOWN_OP', metadata: { op: 'no.such.op' } }],
    ['empty op', commandMessage(''), {}, { reason: 'UNKNOWN_OP' }],
    ['unknown argument', commandMessage('workflow.run', { ...good, extra: 1 }), {}, { reason: 'INVALID_COMMAND_ARGS' }],
    ['missing argument', commandMessage('workflow.run'), {}, { reason: 'INVALID_COMMAND_ARGS' }],
    ['argument of another type', commandMessage('workflow.run', { workflow: 7 }), {}, { reason: 'INVALID_COMMAND_ARGS' }],
  ];
  for (const [what, message, { extensions = [COMMAND], configuration }, expected] of rows) {
    for (const method of ['SendMessage', 'SendStreamingMessage']) {
      const answer = await daemon.rpc(method, { message, configuration }, { extensions });
      await assert.doesNotReject(async () => {
        assertRefused(answer, { code: -32602, domain: 'agentd.dev', ...expected });
        assert.deepEqual(answer.error.data.map((entry) => entry['@type'].split('.').at(-1)), ['BadRequest', 'ErrorInfo']);
        assert.match(answer.error.data[0].fieldViolations[0].field, /^message\.parts\[0\]\.data\.agentd|^configuration/);
      }, what);
    }
  }
  const twice = commandMessage('workflow.run', { workflow: 7, extra: 1 });
  const { error } = await daemon.rpc('SendMessage', { message: twice }, { extensions: [COMMAND] });
  assert.equal(error.data[0].fieldViolations.length, 2, 'one violation for each miss');
});

test('text may stand beside a command; data that is no command is content', async () => {
  const message = commandMessage('status');
  message.parts.unshift({ text: 'how are you?' });
  assert.ok((await daemon.call('SendMessage', { message }, { extensions: [COMMAND] })).message);
  const modes = { acceptedOutputModes: ['text/plain', 'Application/JSON; charset=utf-8'] };
  assert.ok((await daemon.command('status', {}, { configuration: modes })).message);
  const content = userMessage('hello', { parts: [{ text: 'hello' }, { data: { other: 1 } }] });
  assert.ok((await daemon.call('SendMessage', { message: content })).task);
});

test('a user runs workflows and sees only its own runs', async (t) => {
  const { tokens, options } = twoUsers({ workflows: [workflows.pair] });
  const shared = await startDaemon(t, options);
  const { task } = await shared.command('workflow.run', { workflow: 'pair' }, { token: tokens.alice });
  assert.equal(task.status.state, 'TASK_STATE_COMPLETED');
  assertRefused(await shared.rpc('GetTask', { id: task.id }, { token: tokens.bob }), { code: -32001 });
});

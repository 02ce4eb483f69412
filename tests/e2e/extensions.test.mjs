// Which extensions a request activates, how the answer says so, and the annotations of every Task that is answered with
// (a2a.md section 6, events.md section 2, task-annotations.md).
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';

import { ANNOTATIONS, COMMAND, EVENTS, SUBSCRIBE } from './contract.mjs';
import { startDaemon, twoUsers, userMessage } from './harness.mjs';
import { assertRefused } from './refusals.mjs';
import { assertValid, validator } from './schemas.mjs';
import { done } from './sign_in.mjs';
import { workflows } from './workflows.mjs';

const { tokens, options } = twoUsers({ workflows: [workflows.pair] });
const daemon = await startDaemon(undefined, options);
const alice = { token: tokens.alice };
const operator = { token: tokens.operator };

const ALL = [COMMAND, EVENTS, ANNOTATIONS];
const many = (count, stem = 'urn:x:') => Array.from({ length: count }, (_, i) => `${stem}${i}`);
const echoed = ({ headers }) => headers['a2a-extensions']?.split(', ') ?? [];

test('the header is read as the contract has it', async () => {
  const rows = [
    ['nothing', '', []],
    ['commas and blanks alone', ' , ,,\t', []],
    ['one', EVENTS, [EVENTS]],
    ['odd spacing', ` ,\t${EVENTS}\t ,,${COMMAND}, `, [COMMAND, EVENTS]],
    ['the order of the registry, not of the header', ALL.toReversed().join(','), ALL],
    ['several lines', [ANNOTATIONS, `${COMMAND},${EVENTS}`], ALL],
    ['a name twice, and in two lines', [`${EVENTS},${EVENTS}`, EVENTS], [EVENTS]],
    ['an unknown one beside a known one', `urn:unknown, ${COMMAND}`, [COMMAND]],
    ['unknown ones alone', 'urn:unknown, x', []],
    ['nearly a name', [`${EVENTS}/`, `${EVENTS}/v1`, `"${EVENTS}"`, EVENTS.toUpperCase(), `${EVENTS};q=1`, 'events'], []],
    ['names that no comma parts', `${EVENTS} ${COMMAND}`, []],
    ['the 32nd token', [...many(31), EVENTS].join(), [EVENTS]],
    ['the 33rd token', [...many(32), EVENTS].join(), []],
    ['the 33rd token, over several lines', [...many(32), EVENTS], []],
    ['behind many empty tokens and many of one name', `${','.repeat(100)}${'x,'.repeat(100)}${EVENTS}`, [EVENTS]],
    ['behind a token that is too long', `${'u'.repeat(513)},${EVENTS}`, [EVENTS]],
    ['behind 32 tokens that are too long', [...many(32, 'u'.repeat(512)), EVENTS].join(), []],
  ];
  for (const [what, header, expected] of rows) {
    const answer = await daemon.rpc('ListTasks', {}, { ...alice, headers: { 'a2a-extensions': header } });
    assert.ok(answer.result, `${what} is refused: ${answer.text}`);
    assert.deepEqual(echoed(answer), expected, what);
  }
  const spelled = await daemon.rpc('ListTasks', {}, { ...alice, headers: { 'A2A-EXTENSIONS': EVENTS } });
  assert.deepEqual(echoed(spelled), [EVENTS], 'the name of the header has no case');
});

test('every answer says what was activated, refusals and streams too', async () => {
  const how = { ...alice, extensions: ['urn:unknown', ANNOTATIONS, EVENTS] };
  const both = [EVENTS, ANNOTATIONS];
  const refusals = [
    ['no JSON', await daemon.post('{', how), -32700],
    ['no envelope', await daemon.post('[]', how), -32600],
    ['no version', await daemon.rpc('ListTasks', {}, { ...how, version: null }), -32009],
    ['no method', await daemon.rpc('Nothing', {}, how), -32601],
    ['no such task', await daemon.rpc('GetTask', { id: 'gone' }, how), -32001],
    ['params of the feed', await daemon.rpc(SUBSCRIBE, { fromSeq: -1 }, how), -32602],
    ['params of a stream', await daemon.rpc('SendStreamingMessage', {}, how), -32602],
    ['a command that is not activated', await daemon.command('status', {}, { ...how, via: 'rpc' }), -32602],
  ];
  for (const [what, answer, code] of refusals) {
    assertRefused(answer, { code });
    assert.deepEqual(echoed(answer), both, what);
  }
  assert.deepEqual(echoed(await daemon.rpc('GetExtendedAgentCard', undefined, how)), both);

  const sender = await daemon.stream('SendStreamingMessage', { message: userMessage('forever') }, how);
  const { task } = await sender.result();
  const streams = [
    sender,
    await daemon.stream('SubscribeToTask', { id: task.id }, how),
    await daemon.stream(SUBSCRIBE, {}, how),
    await daemon.curl('', { ...alice, headers: { 'a2a-extensions': both.join() } }),
  ];
  for (const stream of streams) assert.deepEqual([stream.isStream, echoed(stream)], [true, both]);
  for (const stream of [await daemon.curl('', alice), await daemon.stream('SubscribeToTask', { id: task.id }, alice)]) {
    assert.deepEqual([stream.isStream, stream.headers['a2a-extensions']], [true, undefined]);
    stream.destroy();
  }
  for (const stream of streams) stream.destroy();
  await daemon.call('CancelTask', { id: task.id }, alice);
});

test('what the instance does not declare is not activated', async (t) => {
  const quiet = await startDaemon(t, { config: { a2a: { events: { enabled: false } } } });
  const answer = await quiet.rpc('ListTasks', {}, { extensions: ALL });
  assert.deepEqual(echoed(answer), [COMMAND, ANNOTATIONS]);
});

// Each way in which a Task is answered with: its Tasks, as `how` gets them. `asked`: a task that waits for input.
const ANSWERS = {
  'SendMessage': async (how) => [await daemon.sendTask('hello', how)],
  'SendMessage, at once': async (how) => (
    [await daemon.sendTask('slow', { ...how, configuration: { returnImmediately: true } })]),
  'SendMessage, of a run': async (how) => (
    [(await daemon.command('workflow.run', { workflow: 'pair' }, { ...how, extensions: [COMMAND, ...how.extensions] })).task]),
  'SendMessage, of an op': async (how) => (
    [(await daemon.command('admin.resume', {}, { ...how, ...operator, extensions: [COMMAND, ...how.extensions] })).task]),
  'SendMessage, once more with its key': async (how) => {
    const params = { message: userMessage('hello') };
    const headers = { 'idempotency-key': randomUUID() };
    const { task } = await daemon.call('SendMessage', params, { ...alice, headers });
    const again = await daemon.call('SendMessage', params, { ...how, headers });
    const stream = await daemon.stream('SendStreamingMessage', params, { ...how, headers });
    const streamed = await stream.result();
    stream.destroy();
    assert.deepEqual([again.task.id, streamed.task.id], [task.id, task.id]);
    return [again.task, streamed.task];
  },
  'SendStreamingMessage': async (how) => {
    const stream = await daemon.stream('SendStreamingMessage', { message: userMessage('pieces') }, how);
    const { task } = await stream.result();
    assert.equal(JSON.stringify(await stream.results()).includes(ANNOTATIONS), false, 'an update is no Task');
    return [task];
  },
  'SubscribeToTask': async (how, { asked }) => {
    const stream = await daemon.stream('SubscribeToTask', { id: asked }, how);
    const { task } = await stream.result();
    stream.destroy();
    return [task];
  },
  'GetTask': async (how, { asked }) => [await daemon.getTask(asked, how)],
  'ListTasks': async (how) => (await daemon.call('ListTasks', { pageSize: 100 }, how)).tasks,
  'CancelTask': async (how) => {
    const { id } = await daemon.sendTask('ask', alice);
    return [await daemon.call('CancelTask', { id }, how)];
  },
  'task events of the feed': async (how) => {
    const feed = await daemon.feed({ ...how, fromSeq: 0 });
    const { id } = await daemon.sendTask('hello', alice);
    await feed.untilDone(id);
    feed.close();
    return feed.of('task').map(({ data }) => data.task);
  },
  'GET /events': async ({ token, extensions }) => {
    await daemon.sendTask('hello', alice);
    const stream = await daemon.curl('?kinds=task&follow=false', { token, headers: { 'a2a-extensions': extensions.join() } });
    const tasks = [];
    for (let frame = await stream.next(); frame; frame = await stream.next()) {
      const { event } = JSON.parse(frame.data);
      if (event) tasks.push(event.data.task);
    }
    return tasks;
  },
};

test('every Task that is answered with is annotated for who asks, and has no metadata for others', async (t) => {
  const isAnnotations = validator('task-annotations');
  const { id: asked } = await daemon.sendTask('ask', alice);
  await done(daemon, 'admin.pause', {}, operator);
  await done(daemon, 'admin.resume', {}, operator);
  for (const [what, tasksFor] of Object.entries(ANSWERS)) {
    await t.test(what, async () => {
      const annotated = await tasksFor({ ...alice, extensions: [ANNOTATIONS] }, { asked });
      assert.ok(annotated.length > 0);
      for (const task of annotated) {
        assert.deepEqual(Object.keys(task.metadata), [ANNOTATIONS]);
        const value = task.metadata[ANNOTATIONS];
        assertValid(isAnnotations, value);
        assert.ok(value.link.id, JSON.stringify(value));
        if (value.link.kind === 'turn') assert.equal(value.link.id, task.contextId);
        assert.equal(value.statusHistory.at(-1).state, task.status.state);
        assert.equal(value.principal, what.endsWith('an op') ? 'operator' : 'user:alice');
      }
      const plain = await tasksFor({ ...alice, extensions: [] }, { asked });
      assert.ok(plain.length > 0);
      for (const task of plain) assert.equal('metadata' in task, false, JSON.stringify(task));
    });
  }
});

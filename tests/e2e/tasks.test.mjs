// Tasks over JSON-RPC: blocking, history, contexts, lists, streams, retries, ownership.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';

import { ANNOTATIONS, isTerminal } from './contract.mjs';
import { startDaemon, twoUsers, userMessage } from './harness.mjs';
import { eventually } from './processes.mjs';
import { assertRefused } from './refusals.mjs';

const daemon = await startDaemon();

const later = { configuration: { returnImmediately: true } };
const texts = (task) => (task.history ?? []).flatMap((m) => m.parts.map((part) => part.text));

async function allPages(params, between = async () => {}) {
  const tasks = [];
  let pageToken = '';
  do {
    const page = await daemon.call('ListTasks', { ...params, ...(pageToken ? { pageToken } : {}) });
    tasks.push(...page.tasks);
    pageToken = page.nextPageToken;
    assert.equal(typeof pageToken, 'string');
    await between(page);
  } while (pageToken !== '');
  return tasks;
}

test('a message blocks until its task is terminal, with the artifacts', async () => {
  const task = await daemon.sendTask('hello');
  assert.equal(task.status.state, 'TASK_STATE_COMPLETED');
  assert.ok(task.contextId && task.artifacts.length > 0, JSON.stringify(task));
  assert.match(task.status.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.equal('metadata' in task, false, 'no metadata without annotations');
});

test('returnImmediately answers while the task is still in progress', async () => {
  const task = await daemon.sendTask('slow', later);
  assert.equal(isTerminal(task), false);
  await daemon.taskIn(task.id, 'COMPLETED');
});

test('a blocking caller is answered when the task asks for input, and goes on with the answer', async () => {
  const asked = await daemon.sendTask('ask');
  assert.equal(asked.status.state, 'TASK_STATE_INPUT_REQUIRED');
  assert.ok(asked.status.message.parts[0].text);
  assert.equal(asked.status.message.role, 'ROLE_AGENT');
  const done = await daemon.sendTask('blue', { message: { taskId: asked.id } });
  assert.deepEqual([done.id, done.contextId, done.status.state],
    [asked.id, asked.contextId, 'TASK_STATE_COMPLETED']);
});

test('the agent may answer with a message, which makes no task', async () => {
  const contextId = randomUUID();
  const { message, task } = await daemon.send('direct', { message: { contextId } });
  assert.equal(task, undefined);
  assert.deepEqual([message.role, message.contextId, message.taskId], ['ROLE_AGENT', contextId, undefined]);
  const stream = await daemon.stream('SendStreamingMessage', { message: userMessage('direct', { contextId }) });
  assert.deepEqual((await stream.results()).map((result) => Object.keys(result)), [['message']]);
  assert.equal(stream.ended, 'clean');
  assert.equal((await daemon.call('ListTasks', { contextId })).totalSize, 0);
});

test('historyLength cuts to the newest messages, 0 leaves them out, a negative one is refused', async () => {
  const { id } = await daemon.sendTask('ask');
  await daemon.sendTask('blue', { message: { taskId: id } });
  const whole = await daemon.getTask(id);
  assert.ok(whole.history.length >= 2, 'the question and both messages');
  assert.deepEqual(texts(whole).filter((text) => ['ask', 'blue'].includes(text)), ['ask', 'blue']);
  const one = await daemon.call('GetTask', { id, historyLength: 1 });
  assert.deepEqual(one.history, whole.history.slice(-1));
  const many = await daemon.call('GetTask', { id, historyLength: 1000 });
  assert.deepEqual(many.history, whole.history);
  assert.equal((await daemon.call('GetTask', { id, historyLength: 0 })).history?.length ?? 0, 0);
  for (const historyLength of [-1, 1.5, 'x']) {
    assertRefused(await daemon.rpc('GetTask', { id, historyLength }), { code: -32602 });
  }
});

test('context and task ids: inferred, matched, never made up', async () => {
  const contextId = randomUUID();
  const asked = await daemon.sendTask('ask', { message: { contextId } });
  assert.equal(asked.contextId, contextId);
  const sibling = await daemon.sendTask('hello', { message: { contextId } });
  assert.notEqual(sibling.id, asked.id);
  assert.equal(sibling.contextId, contextId);
  const send = (over) => daemon.rpc('SendMessage', { message: userMessage('blue', over) });
  assertRefused(await send({ taskId: asked.id, contextId: randomUUID() }), { code: -32602 });
  assertRefused(await send({ taskId: randomUUID() }), { code: -32001, reason: 'TASK_NOT_FOUND' });
  assert.equal((await send({ taskId: asked.id, contextId })).result.task.id, asked.id);
});

test('a message that is not one is refused with its field', async () => {
  const rows = [
    [{ parts: [] }, /parts/], [{ parts: undefined }, /parts/], [{ messageId: undefined }, /messageId/],
    [{ role: undefined }, /role/], [{ role: 'ROLE_NOBODY' }, /role/], [{ parts: [{}] }, /parts/],
    [{ parts: [{ text: 'a', url: 'https://b.example' }] }, /parts/], [{ parts: [{ text: 1 }] }, /parts/],
  ];
  for (const [over, field] of rows) {
    const answer = await daemon.rpc('SendMessage', { message: userMessage('hello', over) });
    assertRefused(answer, { code: -32602 });
    assert.match(JSON.stringify(answer.error.data), field, JSON.stringify(over));
  }
  assertRefused(await daemon.rpc('SendMessage', {}), { code: -32602 });
});

test('settled_task', async () => {
  const { id } = await daemon.sendTask('hello');
  assertRefused(await daemon.rpc('CancelTask', { id }), { code: -32002, reason: 'TASK_NOT_CANCELABLE' });
  const message = userMessage('more', { taskId: id });
  for (const method of ['SendMessage', 'SendStreamingMessage']) {
    assertRefused(await daemon.rpc(method, { message }), { code: -32004, reason: 'UNSUPPORTED_OPERATION' });
  }
  assertRefused(await daemon.rpc('SubscribeToTask', { id }), { code: -32004, reason: 'UNSUPPORTED_OPERATION' });
});

test('cancel ends a working task within two seconds', async () => {
  const { id } = await daemon.sendTask('forever', later);
  const began = Date.now();
  await daemon.call('CancelTask', { id });
  const task = await daemon.taskIn(id, 'CANCELED', { ms: 2_000 });
  assert.ok(Date.now() - began < 2_000);
  assert.equal(task.status.state, 'TASK_STATE_CANCELED');
});

test('a message to a working task is queued, not refused', async () => {
  const { id } = await daemon.sendTask('slow', later);
  const task = await daemon.sendTask('and this', { ...later, message: { taskId: id } });
  assert.equal(task.id, id);
  await daemon.taskIn(id, 'COMPLETED');
  assert.ok(texts(await daemon.getTask(id)).includes('and this'));
});

test('a direct answer to a task that is there already is its last word', async () => {
  const asked = await daemon.sendTask('ask');
  const done = await daemon.sendTask('direct', { message: { taskId: asked.id } });
  assert.deepEqual([done.id, done.status.state], [asked.id, 'TASK_STATE_COMPLETED']);
  assert.equal(done.status.message.parts[0].text, 'No task is needed for this.');

  const { id } = await daemon.sendTask('slow', later);
  await daemon.sendTask('direct', { ...later, message: { taskId: id } });
  await daemon.sendTask('blue', { ...later, message: { taskId: id } });
  const last = await daemon.taskIn(id, 'COMPLETED');
  assert.ok(last.artifacts.some(({ name }) => name === 'colour.txt'), 'what was queued behind it is answered too');
});

test('a task takes so many messages ahead and no more', async () => {
  const { id } = await daemon.sendTask('forever', later);
  const more = () => daemon.rpc('SendMessage', { message: userMessage('more', { taskId: id }), ...later });
  for (let i = 0; i < 64; i += 1) assert.equal((await more()).status, 200);
  const refused = await more();
  assert.equal(refused.status, 429);
  assert.equal(refused.error.data.at(-1).reason, 'RATE_LIMITED');
  await daemon.call('CancelTask', { id });
});

test('an empty id is one that is not set', async () => {
  const task = await daemon.sendTask('hello', { message: { taskId: '', contextId: '' } });
  assert.equal(task.status.state, 'TASK_STATE_COMPLETED');
  assert.notEqual(task.contextId, '');
});

test('a stream starts with the task, ends with its terminal state, artifacts before it', async () => {
  const stream = await daemon.stream('SendStreamingMessage', { message: userMessage('pieces') });
  assert.equal(stream.status, 200);
  assert.match(stream.headers['content-type'], /^text\/event-stream/);
  assert.equal(stream.headers['x-accel-buffering'], 'no');
  const ids = [];
  const results = [];
  for (let frame = await stream.next(); frame; frame = await stream.next()) {
    ids.push(Number(frame.id));
    results.push(JSON.parse(frame.data).result);
  }
  assert.equal(stream.ended, 'clean');
  assert.ok(results[0].task, 'the first is the task');
  for (const result of results) assert.equal(Object.keys(result).length, 1, JSON.stringify(result));
  assert.deepEqual(ids, [...ids].sort((a, b) => a - b), 'event numbers grow');
  const kinds = results.map((result) => Object.keys(result)[0]);
  const end = results.findIndex(({ statusUpdate }) => statusUpdate && isTerminal(statusUpdate));
  assert.ok(end > 0, kinds.join());
  assert.ok(kinds.indexOf('artifactUpdate') > 0 && kinds.lastIndexOf('artifactUpdate') < end, kinds.join());
});

test('a stream stays open while the task waits for input', async () => {
  const stream = await daemon.stream('SendStreamingMessage', { message: userMessage('ask') });
  const { task } = await stream.result();
  await daemon.taskIn(task.id, 'INPUT_REQUIRED');
  const second = await daemon.stream('SubscribeToTask', { id: task.id });
  assert.equal((await second.result()).task.status.state, 'TASK_STATE_INPUT_REQUIRED');
  await daemon.sendTask('blue', { message: { taskId: task.id } });
  for (const reader of [stream, second]) {
    const last = (await reader.results()).at(-1);
    assert.equal((last.statusUpdate ?? last.task).status.state, 'TASK_STATE_COMPLETED');
    assert.equal(reader.ended, 'clean');
  }
});

test('task_streams_identical', async () => {
  const { id } = await daemon.sendTask('ask');
  const subscribe = (request) => daemon.stream('SubscribeToTask', { id }, { id: request });
  const streams = await Promise.all(['one', 2].map(subscribe));
  await daemon.sendTask('pieces', { message: { taskId: id } });
  const seen = [];
  for (const stream of streams) {
    const frames = [];
    for (let frame = await stream.next(); frame; frame = await stream.next()) frames.push(frame);
    seen.push(frames);
  }
  assert.ok(seen[0].length > 2);
  const withoutId = ({ id: number, data }) => [number, data.replace(/"id":("one"|2),/, '"id":?,')];
  assert.deepEqual(seen[0].map(withoutId), seen[1].map(withoutId));
});

test('list filters by context, status and time, and leaves artifacts out unless asked', async () => {
  const contextId = randomUUID();
  const first = await daemon.sendTask('hello', { message: { contextId } });
  const asked = await daemon.sendTask('ask', { message: { contextId } });
  const ids = async (params) => (await daemon.call('ListTasks', { contextId, ...params })).tasks.map((task) => task.id);
  assert.deepEqual(await ids({}), [asked.id, first.id], 'newest first');
  assert.deepEqual(await ids({ status: 'TASK_STATE_COMPLETED' }), [first.id]);
  assert.deepEqual(await ids({ statusTimestampAfter: asked.status.timestamp }).then((all) => all.at(0)), asked.id);
  assert.deepEqual(await ids({ statusTimestampAfter: '2999-01-01T00:00:00Z' }), []);
  assert.deepEqual(await ids({ contextId: randomUUID() }), []);
  const page = await daemon.call('ListTasks', { contextId });
  assert.deepEqual([page.totalSize, page.pageSize, page.nextPageToken], [2, 50, '']);
  for (const task of page.tasks) assert.equal('artifacts' in task, false);
  const whole = await daemon.call('ListTasks', { contextId, includeArtifacts: true });
  for (const task of whole.tasks) assert.ok(Array.isArray(task.artifacts));
  for (const bad of [{ pageSize: 0 }, { pageSize: 101 }, { pageSize: -1 }, { pageToken: 'nonsense' },
    { status: 'TASK_STATE_NONE' }, { statusTimestampAfter: 'yesterday' }, { historyLength: -1 }]) {
    assertRefused(await daemon.rpc('ListTasks', { contextId, ...bad }), { code: -32602 });
  }
});

test('list_tasks_pages_do_not_skip', async () => {
  const contextId = randomUUID();
  const asked = [];
  for (let i = 0; i < 12; ++i) asked.push(await daemon.sendTask('ask', { message: { contextId } }));
  const listed = await allPages({ contextId, pageSize: 3 }, async () => {
    const moving = asked.shift();  // the oldest left becomes the newest
    if (moving) await daemon.sendTask('blue', { message: { taskId: moving.id } });
  });
  const moved = new Set(listed.map((task) => task.id));
  for (const task of asked) assert.ok(moved.has(task.id), `${task.id}, which did not move, is listed`);
  const settled = await allPages({ contextId, pageSize: 5 });
  assert.equal(new Set(settled.map((task) => task.id)).size, 12);
  assert.equal(settled.length, 12);
  const stamps = settled.map((task) => task.status.timestamp);
  assert.deepEqual(stamps, [...stamps].sort().reverse());
});

test('idempotency_key', async (t) => {
  const own = await startDaemon(t);
  const headers = { 'idempotency-key': randomUUID() };
  const message = userMessage('hello');
  const send = (text = message) => own.rpc('SendMessage', { message: text }, { headers });
  const ids = (await Promise.all([send(), send()])).map((answer) => answer.result.task.id);
  await own.restart();
  ids.push((await send()).result.task.id);
  assert.equal(new Set(ids).size, 1, ids.join());
  assert.equal((await own.call('ListTasks', {})).totalSize, 1);
  assertRefused(await send(userMessage('other')), { code: -32602 });
  const again = await own.rpc('SendMessage', { message });
  assert.notEqual(again.result.task.id, ids[0], 'the messageId alone does not deduplicate');
});

test('not_yours_is_unknown', async (t) => {
  const { tokens, options } = twoUsers();
  const shared = await startDaemon(t, options);
  const mine = await shared.sendTask('ask', { token: tokens.alice, message: { contextId: 'chat1' } });
  const bob = { token: tokens.bob, id: 1 };
  const shape = ({ status, text, headers: { date, ...headers } }, id) => ({
    status, headers: { ...headers, 'content-length': undefined }, text: text.replaceAll(id, 'ID'),
  });
  const calls = {
    GetTask: (id) => ({ id }),
    CancelTask: (id) => ({ id }),
    SubscribeToTask: (id) => ({ id }),
    SendMessage: (taskId) => ({ message: userMessage('x', { taskId, messageId: 'm' }) }),
    SendStreamingMessage: (taskId) => ({ message: userMessage('x', { taskId, messageId: 'm' }) }),
  };
  for (const [method, params] of Object.entries(calls)) {
    const unknown = randomUUID();
    const theirs = await shared.rpc(method, params(mine.id), bob);
    assertRefused(theirs, { code: -32001, reason: 'TASK_NOT_FOUND' });
    assert.deepEqual(shape(theirs, mine.id), shape(await shared.rpc(method, params(unknown), bob), unknown), method);
  }
  assert.equal((await shared.call('ListTasks', {}, bob)).totalSize, 0);
  const own = await shared.sendTask('hello', { ...bob, message: { contextId: 'chat1' } });
  assert.equal(own.contextId, 'chat1', 'a context of the same name is another conversation');
  assert.equal((await shared.call('ListTasks', { contextId: 'chat1' }, bob)).totalSize, 1);
  assert.equal((await shared.getTask(mine.id, { token: tokens.operator })).id, mine.id);
});

test('viewer_drop_never_touches_run', async () => {
  const sender = await daemon.stream('SendStreamingMessage', { message: userMessage('slow') });
  const { task } = await sender.result();
  const viewer = await daemon.stream('SubscribeToTask', { id: task.id });
  await viewer.result();
  const other = await daemon.stream('SubscribeToTask', { id: task.id });
  sender.destroy();
  viewer.destroy();
  const last = (await other.results()).at(-1);
  assert.equal((last.statusUpdate ?? last.task).status.state, 'TASK_STATE_COMPLETED');
});

test('annotations are there for who asks, and no trace of them for others', async () => {
  const task = await daemon.sendTask('hello', { extensions: [ANNOTATIONS] });
  const { link, created, statusHistory } = task.metadata[ANNOTATIONS];
  assert.ok(link.id && ['turn', 'run', 'subagent'].includes(link.kind));
  assert.match(created, /Z$/);
  assert.equal(statusHistory.at(-1).state, task.status.state);
  assert.equal('metadata' in (await daemon.getTask(task.id)), false);
  const listed = await daemon.call('ListTasks', { pageSize: 1 }, { extensions: [ANNOTATIONS] });
  assert.ok(listed.tasks[0].metadata[ANNOTATIONS]);
});

test('blocking_caller_reads_its_task', async (t) => {
  const daemon = await startDaemon(t, { config: { store: { retention: { tasks: { keep_last: 0 } } } } });
  const tasks = await Promise.all(Array.from({ length: 20 }, () => daemon.sendTask('hello')));
  for (const { status, artifacts } of tasks) assert.ok(status.state === 'TASK_STATE_COMPLETED' && artifacts.length > 0);
  await eventually('no task is kept', async () => (await daemon.allTasks()).length === 0);
});

// Who sees what on the feed, and in which order (events.md sections 5.7, 6 and 7).
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ANNOTATIONS, EVENTS, KINDS, SUBSCRIBE, isTerminal, objectOf } from './contract.mjs';
import { assertCausal } from './feed_reader.mjs';
import { startDaemon, twoUsers, users } from './harness.mjs';
import { assertRefused } from './refusals.mjs';
import { letIn, signIn } from './sign_in.mjs';
import { workflows } from './workflows.mjs';

const owned = new Set([...KINDS].filter(([, { audience }]) => audience === 'owner').map(([kind]) => kind));

test('feed_visibility_matrix', async (t) => {
  const { tokens, options } = twoUsers({ workflows: [workflows.pair] });
  const daemon = await startDaemon(t, options);
  const live = {};
  for (const name of ['operator', 'alice', 'bob']) live[name] = await daemon.feed({ token: tokens[name] });

  const turn = await daemon.sendTask('hello', { token: tokens.alice, message: { contextId: 'hers' } });
  const { task: runTask } = await daemon.command('workflow.run', { workflow: 'pair' }, { token: tokens.alice });
  const barrier = await daemon.sendTask('hello', { token: tokens.bob });
  const operators = await daemon.sendTask('hello', { token: tokens.operator });
  await live.operator.untilDone(operators.id);
  await live.alice.untilDone(runTask.id);
  await live.bob.untilDone(barrier.id);

  const kindsOf = (feed) => new Set(feed.events.map(({ kind }) => kind));
  for (const kind of ['task', 'run', 'conversation', 'activity', 'activity.removed']) {
    assert.ok(kindsOf(live.alice).has(kind), `alice sees her ${kind}`);
  }
  for (const kind of ['step', 'child', 'child.removed', 'status', 'run']) {
    assert.ok(kindsOf(live.operator).has(kind), `the operator sees ${kind}`);
  }
  for (const name of ['alice', 'bob']) {
    for (const kind of kindsOf(live[name])) {
      assert.notEqual(KINDS.get(kind).audience, 'operator', `${name} is sent no ${kind}`);
    }
  }
  const about = (feed) => new Set(feed.events.filter(({ kind }) => owned.has(kind)).map((e) => objectOf(e).join(' ')));
  const hers = about(live.alice);
  assert.ok(hers.has(`task ${turn.id}`) && hers.has(`task ${runTask.id}`));
  assert.equal(hers.has(`task ${barrier.id}`) || hers.has(`task ${operators.id}`), false);
  for (const object of about(live.bob)) assert.equal(hers.has(object), false, `bob is told nothing of ${object}`);
  for (const object of [...hers, ...about(live.bob)]) assert.ok(about(live.operator).has(object), object);
  for (const { principal } of live.alice.of('run').map(({ data }) => data)) assert.equal(principal, 'user:alice');

  for (const name of ['operator', 'alice', 'bob']) {
    const replayed = await daemon.feed({ token: tokens[name], fromSeq: 0 });
    const { seen } = live[name];
    await replayed.untilSeq(seen);
    const past = replayed.events.filter(({ seq }) => seq > live[name].hello.seq && seq <= seen);
    assert.deepEqual(past, live[name].events, `replayed and live are the same for ${name}`);
    replayed.close();
  }
  const everyone = await Promise.all([daemon.stop(), ...['operator', 'alice', 'bob'].map((name) => live[name].drain())]);
  assert.equal(everyone.length, 4);
  for (const feed of Object.values(live)) {
    assert.deepEqual(feed.of('lifecycle').map(({ data }) => data.draining), [true]);
  }
});

test('a sign-in sees what its name owns, an agent what is its own, and nobody anything', async (t) => {
  const { tokens, options } = users(['alice', 'bob'], signIn());
  options.env.ROBOT_TOKEN = 'robot-token';
  options.config.a2a.principals.push({ id: 'robot', role: 'agent', match: { bearer_ref: { env: 'ROBOT_TOKEN' } } });
  const daemon = await startDaemon(t, options);
  const signedIn = await letIn({ daemon, operator: { token: tokens.operator } }, 'alice');
  const callers = { alice: { token: tokens.alice }, signedIn, bob: { token: tokens.bob }, robot: { token: 'robot-token' } };
  const live = {};
  for (const [name, caller] of Object.entries(callers)) live[name] = await daemon.feed(caller);

  const hers = [await daemon.sendTask('hello', callers.alice), await daemon.sendTask('hello', callers.signedIn)];
  const robots = await daemon.sendTask('hello', callers.robot);
  const bobs = await daemon.sendTask('hello', callers.bob);
  await live.alice.untilDone(hers[1].id);
  await live.signedIn.untilDone(hers[1].id);
  await live.robot.untilDone(robots.id);
  await live.bob.untilDone(bobs.id);

  assert.deepEqual(live.signedIn.events, live.alice.events, 'one name is one principal');
  const tasks = (feed) => [...new Set(feed.of('task').map(({ data }) => data.task.id))].sort();
  assert.deepEqual(tasks(live.alice), hers.map(({ id }) => id).sort());
  assert.deepEqual(tasks(live.robot), [robots.id]);
  assert.deepEqual(tasks(live.bob), [bobs.id]);
  for (const [name, feed] of Object.entries(live)) {
    for (const { kind } of feed.events) assert.notEqual(KINDS.get(kind).audience, 'operator', `${name} is sent no ${kind}`);
    const replayed = await daemon.feed({ ...callers[name], fromSeq: 0 });
    await replayed.untilSeq(feed.seen);
    const past = replayed.events.filter(({ seq }) => seq > feed.hello.seq && seq <= feed.seen);
    assert.deepEqual(past, feed.events, `replayed and live are the same for ${name}`);
    for (const open of [feed, replayed]) open.close();
  }
  assertRefused(await daemon.rpc(SUBSCRIBE, {}, { extensions: [EVENTS] }), { http: 401, code: -31401, reason: 'UNAUTHENTICATED' });
  assert.equal((await daemon.curl('?follow=false')).status, 401);
});

test('feed_annotations_follow_activation', async (t) => {
  const daemon = await startDaemon(t);
  const asked = await daemon.feed({ extensions: [ANNOTATIONS] });
  const plain = await daemon.feed();
  const { id } = await daemon.sendTask('hello');
  const end = await asked.untilDone(id);
  await plain.untilDone(id);
  const replayed = await daemon.feed({ fromSeq: 0 });
  await replayed.untilSeq(end.seq);
  for (const { data: { task } } of asked.of('task')) {
    const annotations = task.metadata[ANNOTATIONS];
    assert.ok(annotations.link.id && annotations.created);
    assert.equal(annotations.statusHistory.at(-1).state, task.status.state);
  }
  for (const feed of [plain, replayed]) {
    for (const { data: { task } } of feed.of('task')) assert.equal('metadata' in task, false);
    assert.equal(JSON.stringify(feed.events).includes(ANNOTATIONS), false);
  }
  const without = ({ metadata, ...task }) => task;
  assert.deepEqual(asked.of('task').map(({ data }) => without(data.task)), plain.of('task').map(({ data }) => data.task));
  for (const feed of [asked, plain, replayed]) feed.close();
});

test('feed_order_is_causal', async (t) => {
  const daemon = await startDaemon(t, { config: { workflows: [workflows.pair] } });
  const feed = await daemon.feed();
  const tasks = await Promise.all([
    ...Array.from({ length: 6 }, () => daemon.command('workflow.run', { workflow: 'pair' })),
    ...Array.from({ length: 6 }, () => daemon.send('pieces')),
  ]);
  const pending = new Set(tasks.map(({ task }) => task.id));
  await feed.until('the end of all', ({ kind, data }) => {
    if (kind === 'task' && isTerminal(data.task)) pending.delete(data.task.id);
    return pending.size === 0;
  });
  const { task: last } = await daemon.send('hello');
  await feed.untilDone(last.id);
  feed.close();
  assertCausal(feed.events);
  for (const { task } of tasks) {
    const own = feed.of('task', (data) => data.task.id === task.id).map(({ data }) => data.task);
    assert.deepEqual(own.at(-1).artifacts, task.artifacts, 'the artifacts are there with the terminal state');
    const ended = own.filter(({ status }) => status.state === 'TASK_STATE_COMPLETED');
    assert.equal(own.indexOf(ended[0]) + ended.length, own.length, 'and nothing but the terminal state follows it');
  }
  for (const run of new Set(feed.of('run').map(({ data }) => data.id))) {
    const phases = feed.of('step', (data) => data.run === run).map(({ data }) => `${data.step} ${data.phase}`);
    assert.ok(phases.indexOf('first start') < phases.indexOf('first done'));
    assert.ok(phases.indexOf('first done') < phases.indexOf('second start'), phases.join());
  }
});

test('feed_departure_reaches_owner', async (t) => {
  const keep = { keep_last: 2 };
  const { tokens, options } = twoUsers({
    workflows: [workflows.pair], store: { retention: { tasks: keep, runs: keep, conversations: keep } },
  });
  const daemon = await startDaemon(t, options);
  const feeds = {};
  for (const name of ['operator', 'alice', 'bob']) feeds[name] = await daemon.feed({ token: tokens[name] });
  const alice = { token: tokens.alice };
  const tasks = [];
  for (let i = 0; i < 4; ++i) {
    tasks.push(await daemon.sendTask('hello', alice));
    tasks.push((await daemon.command('workflow.run', { workflow: 'pair' }, alice)).task);
  }
  const wanted = new Set(['task.removed', 'run.removed', 'conversation.removed', 'activity.removed']);
  await feeds.alice.until('all departures', ({ kind }) => { wanted.delete(kind); return wanted.size === 0; });
  const [first] = tasks;
  await feeds.operator.until('the first task to leave',
    ({ kind, data }) => kind === 'task.removed' && data.id === first.id);
  assertRefused(await daemon.rpc('GetTask', { id: first.id }, alice), { code: -32001 });
  const barrier = await daemon.sendTask('hello', { token: tokens.bob });
  await feeds.bob.untilDone(barrier.id);
  await feeds.operator.untilDone(barrier.id);
  const hers = new Set(feeds.alice.events.map((event) => objectOf(event)?.join(' ')).filter(Boolean));
  for (const event of feeds.bob.events) assert.equal(hers.has(objectOf(event)?.join(' ')), false);
  assertCausal(feeds.operator.events);
  for (const feed of Object.values(feeds)) feed.close();
});

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
// No subagents are made, and a `config` tells of a reload; src/feed/visibility_test.cc has those too.
const unmade = new Set(['subagent', 'subagent.removed', 'config']);

test('feed_visibility_matrix', async (t) => {
  const keep = { keep_last: 2 };
  const { tokens, options } = users(['alice', 'bob'], {
    a2a: { ...signIn().a2a, introspection: { enabled: true }, events: { ring: 100_000 } },
    workflows: [workflows.pair], store: { retention: { tasks: keep, runs: keep, conversations: keep } },
  });
  options.env.ROBOT_TOKEN = 'robot-token';
  options.config.a2a.principals.push({ id: 'robot', role: 'agent', match: { bearer_ref: { env: 'ROBOT_TOKEN' } } });
  const daemon = await startDaemon(t, options);
  const operator = { token: tokens.operator };
  const signedIn = await letIn({ daemon, operator }, 'alice');
  const owners = { alice: { token: tokens.alice }, bob: { token: tokens.bob }, robot: { token: 'robot-token' } };
  const callers = { ...owners, signedIn, operator };
  const live = {};
  for (const [name, caller] of Object.entries(callers)) live[name] = await daemon.feed({ ...caller, fromSeq: 0 });

  // Everybody's objects come, and go when there are newer ones.
  for (const caller of Object.values(callers)) {
    for (let i = 0; i < 3; ++i) {
      await daemon.sendTask('hello', caller);
      await daemon.command('workflow.run', { workflow: 'pair' }, caller);
    }
  }
  const last = await daemon.sendTask('hello', operator);
  await live.operator.untilDone(last.id);
  const kindsOf = (feed) => new Set(feed.events.map(({ kind }) => kind));
  for (const [name, feed] of Object.entries(live)) {
    const wanted = [...KINDS.keys()].filter((kind) => (
      !unmade.has(kind) && kind !== 'lifecycle' && (name === 'operator' || owned.has(kind))));
    if (wanted.some((kind) => !kindsOf(feed).has(kind))) {
      await feed.until(`one of each kind for ${name}`, () => wanted.every((kind) => kindsOf(feed).has(kind)));
    }
  }
  for (const [name, feed] of Object.entries(live)) {
    const replayed = await daemon.feed({ ...callers[name], fromSeq: 0 });
    await replayed.untilSeq(feed.seen);
    const past = replayed.events.filter(({ seq }) => seq <= feed.seen);
    assert.deepEqual(past, feed.events, `replayed and live are the same for ${name}`);
    replayed.close();
  }
  assertRefused(await daemon.rpc(SUBSCRIBE, {}, { extensions: [EVENTS] }), { http: 401, code: -31401 });
  assert.equal((await daemon.curl('?follow=false')).status, 401, 'nobody sees anything');
  await Promise.all([daemon.stop(), ...Object.values(live).map((feed) => feed.drain())]);

  const visible = (kinds) => [...KINDS.keys()].filter((kind) => kinds(kind) && !unmade.has(kind)).sort();
  assert.deepEqual([...kindsOf(live.operator)].sort(), visible(() => true));
  for (const name of ['alice', 'bob', 'robot', 'signedIn']) {
    assert.deepEqual([...kindsOf(live[name])].sort(), visible((kind) => KINDS.get(kind).audience !== 'operator'), name);
  }
  assert.deepEqual(live.signedIn.events, live.alice.events, 'one name is one principal');

  // What is about an object of theirs, and nothing else; nothing is about objects of two.
  const about = (feed) => feed.events.filter(({ kind }) => owned.has(kind));
  const object = (event) => objectOf(event).join(' ');
  const taken = new Set();
  for (const name of Object.keys(owners)) {
    const objects = new Set(about(live[name]).map(object));
    assert.deepEqual(about(live.operator).filter((event) => objects.has(object(event))), about(live[name]), name);
    for (const one of objects) assert.equal(taken.has(one), false, `${one} is ${name}'s alone`);
    for (const one of objects) taken.add(one);
  }
  const principals = { alice: 'user:alice', bob: 'user:bob', robot: 'agent:robot' };
  for (const [name, principal] of Object.entries(principals)) {
    assert.deepEqual(new Set(live[name].of('run').map(({ data }) => data.principal)), new Set([principal]));
    assert.deepEqual(new Set(live[name].of('conversation').map(({ data }) => data.principal)), new Set([principal]));
  }
  assert.ok(about(live.operator).some((event) => !taken.has(object(event))), 'and the operator has objects too');
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

// Turns that a chat model answers: rounds, tools, questions to people, subagents, budgets (runtime.md, a2a.md section 3.8).
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { chatting, open, say, textOf } from './chat.mjs';
import { ANNOTATIONS, GATE } from './contract.mjs';
import { Daemon, startDaemon, twoUsers, userMessage } from './harness.mjs';
import { ModelServer } from './model_server.mjs';
import { eventually } from './processes.mjs';
import { assertRefused } from './refusals.mjs';

// What the model says to what. A tool's result decides the second round.
const replies = [
  { match: { userMessage: 'hello' }, response: { content: 'Hello to you, whoever you are.' }, chunkSize: 5 },
  {
    match: { userMessage: 'paint', hasToolResult: false },
    response: { content: 'I have to ask.', toolCalls: [{ name: 'ask_human', arguments: { question: 'Which colour?' } }] },
  },
  { match: { userMessage: 'paint', hasToolResult: true }, response: { content: 'Painted.' } },
  {
    match: { userMessage: 'choose', hasToolResult: false },
    response: { toolCalls: [{ name: 'ask_human', arguments: { question: 'Which branch?', choices: ['main', 'dev'] } }] },
  },
  { match: { userMessage: 'choose', hasToolResult: true }, response: { content: 'Chosen.' } },
  {
    match: { userMessage: 'delegate', hasToolResult: false },
    response: { toolCalls: [{ name: 'subagent_run', arguments: { instruction: 'Look around.' } }] },
  },
  { match: { userMessage: 'delegate', hasToolResult: true }, response: { content: 'My subagent has looked.' } },
  { match: { userMessage: 'Look around', hasToolResult: false }, response: { content: 'All is well.' } },
  { match: { userMessage: 'unknown tool', hasToolResult: false }, response: { toolCalls: [{ name: 'fly', arguments: {} }] } },
  { match: { userMessage: 'unknown tool', hasToolResult: true }, response: { content: 'I cannot.' } },
  {
    match: { userMessage: 'read up', hasToolResult: false },
    response: { toolCalls: [{ name: 'skill', arguments: { name: 'release' } }] },
  },
  { match: { userMessage: 'read up', hasToolResult: true }, response: { content: 'I know how.' } },
  { match: { userMessage: 'for ever' }, response: { toolCalls: [{ name: 'fly', arguments: {} }] } },
];
const model = await ModelServer.start(replies);
after(() => model.stop());

const options = (over, more) => chatting(model, over, more);
const daemon = await startDaemon(undefined, options());
const answer = textOf;

test('a message is answered by the model; the answer comes in pieces, and stands whole in the task', async () => {
  const stream = await daemon.stream('SendStreamingMessage', { message: userMessage('hello') });
  const updates = await stream.results();
  const pieces = updates.filter(({ artifactUpdate }) => artifactUpdate).map(({ artifactUpdate }) => artifactUpdate);
  assert.equal(pieces.at(-1).lastChunk, true);
  const { id } = updates[0].task;
  const task = await daemon.getTask(id);
  assert.equal(task.status.state, 'TASK_STATE_COMPLETED');
  assert.equal(answer(task), 'Hello to you, whoever you are.');
  const { body, headers } = model.requests.at(-1);
  assert.equal(body.model, 'test-model');
  assert.equal(headers.authorization, '[REDACTED]');
});

test('what is said while the model is asked is answered after its answer, in the same task', async (t) => {
  const slow = await ModelServer.start([
    { match: { userMessage: 'first' }, response: { content: 'One.' }, latency: 300 },
    { match: { userMessage: 'second' }, response: { content: 'Two.' } },
  ]);
  t.after(() => slow.stop());
  const own = await startDaemon(t, chatting(slow));
  const { id } = await open(own, 'first');
  await eventually('the question', () => slow.requests.length > 0);
  const { task } = await own.send('second', { message: { taskId: id } });
  assert.equal(task.metadata['https://agentd.dev/a2a/queued'], true);
  assert.deepEqual([answer(task), answer(task, 'answer-2')], ['One.', 'Two.']);
  assert.deepEqual(slow.requests.at(-1).body.messages.map(({ role, content }) => [role, content]).slice(-3),
    [['user', 'first'], ['assistant', 'One.'], ['user', 'second']]);
});

test('the conversation is what the model is told: what was said before comes along', async () => {
  const contextId = 'two-messages';
  await daemon.sendTask('hello', { message: { contextId } });
  await daemon.sendTask('hello again', { message: { contextId } });
  const said = model.requests.at(-1).body.messages.filter(({ role }) => role !== 'system');
  assert.deepEqual(said.map(({ role, content }) => [role, content]), [
    ['user', 'hello'], ['assistant', 'Hello to you, whoever you are.'], ['user', 'hello again']]);
});

test('a question to a person: INPUT_REQUIRED, and the answer is the tool\'s result', async () => {
  const feed = await daemon.feed();
  const task = await daemon.sendTask('paint', { extensions: [ANNOTATIONS] });
  assert.equal(task.status.state, 'TASK_STATE_INPUT_REQUIRED');
  assert.equal(task.status.message.parts[0].text, 'Which colour?');
  const gate = task.status.message.metadata[GATE];
  assert.equal(gate.kind, 'question');
  assert.ok(Date.parse(gate.deadline) > Date.now());
  const done = await daemon.sendTask('blue', { message: { taskId: task.id } });
  assert.equal(done.status.state, 'TASK_STATE_COMPLETED');
  assert.equal(answer(done), 'Painted.');
  const { messages } = model.requests.at(-1).body;
  assert.deepEqual(messages.slice(-2).map(({ role, content }) => [role, content]), [['assistant', 'I have to ask.'], ['tool', 'blue']]);
  // The activity waits while the person thinks.
  await feed.untilDone(task.id);
  const phases = feed.of('activity', (data) => data.task === task.id).map(({ data }) => data.phase);
  assert.deepEqual(phases, ['thinking', 'waiting', 'thinking']);
  feed.close();
});

test('gate_bad_answer_keeps_open: what does not fit is refused with its place, and the question stays', async () => {
  const task = await daemon.sendTask('choose', { extensions: [ANNOTATIONS] });
  assert.deepEqual(task.metadata[ANNOTATIONS].askSchema, { type: 'string', enum: ['main', 'dev'] });
  const refused = await say(daemon, task, [{ text: 'prod' }]);
  assertRefused(refused, { code: -32602, fields: ['message.parts[0].text'] });
  assert.equal((await daemon.getTask(task.id)).status.state, 'TASK_STATE_INPUT_REQUIRED');
  const done = await daemon.sendTask('dev', { message: { taskId: task.id } });
  assert.equal(answer(done), 'Chosen.');
});

test('gate_first_answer_wins: who names a question that was answered is told by whom and when', async (t) => {
  const { tokens, options: access } = twoUsers();
  const guarded = await startDaemon(t, options({}, access));
  const task = await guarded.sendTask('choose', { token: tokens.alice });
  const gate = task.status.message.metadata[GATE].id;
  const named = { message: { metadata: { [GATE]: gate } } };
  const first = await say(guarded, task, [{ text: 'dev' }], { ...named, token: tokens.operator });
  assert.equal(first.error, undefined);
  const second = await say(guarded, task, [{ text: 'main' }], { ...named, token: tokens.alice });
  assert.equal(second.error.code, -32004);
  assert.match(second.error.message, /operator has answered this question, at 20/);
  const strangers = await say(guarded, task, [{ text: 'main' }], { ...named, token: tokens.bob });
  assert.equal(strangers.error.code, -32001);
});

test('a message that names no question is a message like any other, whatever its metadata', async () => {
  await daemon.sendTask('hello', { message: { metadata: { [GATE]: 'gate-of-nobody' } } });
  const { role, content } = model.requests.at(-1).body.messages.at(-1);
  assert.deepEqual([role, content], ['user', 'hello']);
});

test('the time of a pause is not the turn\'s', async (t) => {
  const own = await startDaemon(t, options({ budget: { turn_timeout: '1s' } }));
  const task = await own.sendTask('paint');
  await own.command('admin.pause');
  await say(own, task, [{ text: 'blue' }]);
  // More than the turn may take.
  await new Promise((resolve) => { setTimeout(resolve, 1_200); });
  await own.command('admin.resume');
  assert.equal(answer(await own.taskIn(task.id, 'COMPLETED')), 'Painted.');
});

test('gate_survives_kill9: the question is there in the next life, and its answer goes on with the turn', async (t) => {
  const own = await startDaemon(t, options());
  const task = await own.sendTask('paint');
  await own.restart({ kill: true });
  const again = await own.getTask(task.id);
  assert.equal(again.status.state, 'TASK_STATE_INPUT_REQUIRED');
  assert.deepEqual(again.status.message, task.status.message);
  const before = model.requests.length;
  const done = await own.sendTask('green', { message: { taskId: task.id } });
  assert.equal(answer(done), 'Painted.');
  assert.equal(model.requests.length, before + 1, 'the round before the question is not made again');
});

for (const [nobody, state] of [['fail', 'FAILED'], ['deny', 'COMPLETED'], ['auto', 'COMPLETED']]) {
  test(`gate_nobody_attached: agent.nobody ${nobody} decides at once`, async (t) => {
    const own = await startDaemon(t, options({ nobody }));
    const { id } = await open(own, 'paint');
    const task = await own.taskIn(id, state);
    assert.ok(!JSON.stringify(task).includes('INPUT_REQUIRED'));
    if (nobody === 'fail') assert.match(task.status.message.parts[0].text, /Nobody is there to answer.*Which colour/);
  });
}

test('gate_nobody_attached: a question that nobody answers in time is answered by its deadline', async (t) => {
  const own = await startDaemon(t, options({ ask_timeout: '1s' }));
  const { id } = await open(own, 'paint');
  await own.taskIn(id, 'INPUT_REQUIRED');
  await own.taskIn(id, 'COMPLETED');
  assert.match(model.requests.at(-1).body.messages.at(-1).content, /Nobody has answered in time/);
});

test('a subagent is a process of its own, on the feed while it works, and its result is the tool\'s', async () => {
  const feed = await daemon.feed();
  const task = await daemon.sendTask('delegate');
  assert.equal(answer(task), 'My subagent has looked.');
  await feed.untilDone(task.id);
  const told = feed.of('subagent').map(({ data }) => data);
  assert.deepEqual([told[0].mode, told[0].status, told.at(-1).status], ['sync', 'running', 'completed']);
  const { handle } = told[0];
  assert.equal(feed.of('child', ({ kind }) => kind === `subagent:${handle}`).length > 0, true);
  assert.ok(told.at(-1).tokens > 0);
  const { message } = await daemon.command('subagent.status', { handle });
  assert.equal(message.parts[0].data.result, 'All is well.');
  // Warm: it takes messages.
  const { task: sent } = await daemon.command('subagent.send', { handle, message: 'Look around again.' });
  assert.equal(sent.status.state, 'TASK_STATE_COMPLETED');
  for (const status of ['running', 'completed']) {
    await feed.until(`the subagent ${status}`, ({ kind, data }) => kind === 'subagent' && data.handle === handle && data.status === status);
  }
  feed.close();
});

test('a tool that is not there is an error to the model, and not to the task', async () => {
  const task = await daemon.sendTask('unknown tool');
  assert.equal(answer(task), 'I cannot.');
  assert.match(model.requests.at(-1).body.messages.at(-1).content, /no tool "fly"/);
});

test('a budget of rounds stops the turn, and says which and how much', async (t) => {
  const own = await startDaemon(t, options({ budget: { rounds_per_turn: 3 } }));
  const task = await own.sendTask('for ever');
  assert.equal(task.status.state, 'TASK_STATE_FAILED');
  assert.match(task.status.message.parts[0].text, /3 of 3 rounds of this turn are used \(agent\.budget\.rounds_per_turn\)/);
});

test('skills are told by name and description, read when they are used, and noted in the conversation', async (t) => {
  const own = new Daemon(options({ skills: ['skills'] }));
  t.after(() => own.dispose());
  mkdirSync(join(own.folder, 'skills', 'release'), { recursive: true });
  writeFileSync(join(own.folder, 'skills', 'release', 'SKILL.md'),
    '---\nname: release\ndescription: How a release is made.\n---\nFirst the tag, then the notes.\n');
  await own.start();
  const feed = await own.feed();
  const task = await own.sendTask('read up');
  assert.equal(answer(task), 'I know how.');
  const { messages, tools } = model.requests.at(-1).body;
  assert.match(tools.find(({ function: { name } }) => name === 'skill').function.description, /- release: How a release is made\./);
  assert.match(messages.at(-1).content, /First the tag, then the notes\./);
  await feed.untilDone(task.id);
  assert.deepEqual(feed.of('conversation').at(-1).data.skills, ['release']);
  feed.close();
});

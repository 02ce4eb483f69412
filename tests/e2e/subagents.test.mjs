// Subagents: detached ones, limits, narrowed tools, approvals, and every way in which one ends (runtime.md).
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { chatting, open, say, textOf } from './chat.mjs';
import { GATE } from './contract.mjs';
import { startDaemon, twoUsers } from './harness.mjs';
import { ModelServer } from './model_server.mjs';
import { allGone, eventually, processOf } from './processes.mjs';

const everything = fileURLToPath(new URL('./node_modules/.bin/mcp-server-everything', import.meta.url));
const wants = (...calls) => ({ toolCalls: calls.map(([name, args]) => ({ name, arguments: args })) });
const run = (instruction, more = {}) => wants(['subagent_run', { instruction, ...more }]);
const before = (userMessage) => ({ userMessage, hasToolResult: false });
const then = (userMessage) => ({ userMessage, hasToolResult: true });

const model = await ModelServer.start([
  { match: before('start a slow one'), response: run('Be slow.') },
  { match: then('start a slow one'), response: { content: 'I have heard of it.' } },
  { match: { userMessage: 'Be slow' }, response: wants(['everything__trigger-long-running-operation', { duration: 60, steps: 2 }]) },
  { match: before('start a detached one'), response: run('Be quick.', { mode: 'detached' }) },
  { match: then('start a detached one'), response: { content: 'It is on its way.' } },
  { match: { userMessage: 'Be quick' }, response: { content: 'Quick enough.' } },
  { match: before('narrow'), response: run('Add for me.', { tools: ['everything__get-sum'] }) },
  { match: then('narrow'), response: { content: 'Narrowed.' } },
  { match: before('Add for me'), response: wants(['everything__get-sum', { a: 1, b: 2 }]) },
  { match: then('Add for me'), response: { content: 'Three.' } },
  { match: before('pass on'), response: run('Pass it on.', { tools: ['subagent_*', 'everything__get-sum'] }) },
  { match: then('pass on'), response: { content: 'Passed on.' } },
  { match: before('Pass it on'), response: run('Do it all.', { tools: ['everything__*'] }) },
  { match: then('Pass it on'), response: { content: 'It was done.' } },
  { match: { userMessage: 'Do it all' }, response: { content: 'I did.' } },
  { match: before('two sums'), response: run('Add twice.') },
  { match: then('two sums'), response: { content: 'Two sums.' } },
  { match: before('Add twice'), response: wants(['everything__get-sum', { a: 1, b: 2 }], ['everything__get-sum', { a: 3, b: 4 }]) },
  { match: then('Add twice'), response: { content: 'Three and seven.' } },
  { match: before('deep'), response: run('Go deeper.') },
  { match: then('deep'), response: { content: 'Deep enough.' } },
  { match: before('Go deeper'), response: run('Go deeper still.') },
  { match: then('Go deeper'), response: { content: 'That was deep.' } },
]);
after(() => model.stop());

const servers = { mcp: { servers: { everything: { command: everything, args: ['stdio'] } } } };
async function withTools(t, over = {}, more = {}) {
  const daemon = await startDaemon(t, chatting(model, over, { ...more, config: { ...servers, ...more.config } }));
  await eventually('the MCP server', () => daemon.log.includes('an MCP server is there'), 30_000);
  return daemon;
}
const read = async (daemon, op, args = {}, options = {}) => (await daemon.command(op, args, options)).message.parts[0].data;
// The subagent that works, once its tool does.
const atWork = (daemon, options) => eventually('a subagent at work', async () => {
  const { subagents, children, counters } = await read(daemon, 'status', {}, options);
  const running = subagents.find(({ status }) => status === 'running');
  const child = running && children.find(({ kind }) => kind === `subagent:${running.handle}`);
  return child && counters.tool_calls >= 2 && { handle: running.handle, pid: child.pid };
});

test('a detached one goes on beside its turn, and tells its result to who asks', async (t) => {
  const daemon = await withTools(t);
  assert.equal(textOf(await daemon.sendTask('start a detached one')), 'It is on its way.');
  const { handle, status } = await eventually('its end', async () => {
    const { subagents } = await read(daemon, 'status');
    return subagents.find((one) => one.status === 'completed');
  });
  assert.equal(status, 'completed');
  const told = await read(daemon, 'subagent.status', { handle });
  assert.deepEqual([told.mode, told.result], ['detached', 'Quick enough.']);
});

test('it has the tools that it was given, and what it uses is approved like anything else', async (t) => {
  const daemon = await withTools(t, { approval: 'ask' });
  const task = await daemon.sendTask('narrow');
  assert.equal(task.status.state, 'TASK_STATE_INPUT_REQUIRED');
  const { kind, tool, arguments: args, subagent } = task.status.message.metadata[GATE];
  assert.deepEqual([kind, tool, args], ['approval', 'everything__get-sum', { a: 1, b: 2 }]);
  assert.match(subagent, /^sub-\w+$/);
  assert.match(task.status.message.parts[0].text, /May the subagent sub-\w+ use the tool everything__get-sum with/);
  const done = await daemon.sendTask('', { message: { taskId: task.id, parts: [{ data: { decision: 'approve' } }] } });
  assert.equal(textOf(done), 'Narrowed.');
  const asked = model.requests.find(({ body }) => body.messages.some(({ content }) => content === 'Add for me.'));
  assert.deepEqual(asked.body.tools.map(({ function: { name } }) => name), ['everything__get-sum']);
});

test('what one may not use, none that it starts may use either', async (t) => {
  const daemon = await withTools(t, { approval: 'accept', max_subagent_depth: 3 });
  assert.equal(textOf(await daemon.sendTask('pass on')), 'Passed on.');
  const asked = model.requests.find(({ body }) => body.messages.some(({ content }) => content === 'Do it all.'));
  assert.deepEqual(asked.body.tools.map(({ function: { name } }) => name), ['everything__get-sum']);
});

test('agent.nobody auto allows what a subagent asks too', async (t) => {
  const daemon = await withTools(t, { approval: 'ask', nobody: 'auto' });
  const { id } = await open(daemon, 'two sums');
  assert.equal(textOf(await daemon.taskIn(id, 'COMPLETED')), 'Two sums.');
  const told = model.requests.flatMap(({ body }) => body.messages).filter(({ role }) => role === 'tool').map(({ content }) => content);
  assert.ok(told.some((text) => text.includes('is 3')) && told.some((text) => text.includes('is 7')));
});

test('a pause of the instance holds subagents too', async (t) => {
  const daemon = await withTools(t, { approval: 'ask' });
  const { id } = await open(daemon, 'narrow');
  const task = await daemon.taskIn(id, 'INPUT_REQUIRED');
  const calls = async () => (await read(daemon, 'status')).counters.tool_calls;
  const before = await calls();
  await daemon.command('admin.pause');
  await say(daemon, task, [{ data: { decision: 'approve' } }]);
  assert.equal((await daemon.getTask(id)).status.state, 'TASK_STATE_WORKING');
  assert.equal(await calls(), before, 'its tool has not begun');
  await daemon.command('admin.resume');
  assert.equal(textOf(await daemon.taskIn(id, 'COMPLETED')), 'Narrowed.');
  assert.equal(await calls(), before + 1);
});

test('one that was at work when the daemon was killed is not started again, and the model is told', async (t) => {
  const daemon = await withTools(t, { approval: 'accept' });
  const { id } = await open(daemon, 'start a slow one');
  await atWork(daemon);
  const started = () => model.requests.filter(({ body }) => body.messages.at(-1).content === 'Be slow.').length;
  const before = started();
  await daemon.kill9();
  await daemon.start();
  assert.equal(textOf(await daemon.taskIn(id, 'COMPLETED')), 'I have heard of it.');
  assert.match(model.requests.at(-1).body.messages.at(-1).content, /The daemon was stopped while this ran/);
  assert.equal(started(), before);
});

test('they are as deep as the configuration lets them', async (t) => {
  const daemon = await withTools(t, { max_subagent_depth: 1 });
  assert.equal(textOf(await daemon.sendTask('deep')), 'Deep enough.');
  const { subagents } = await read(daemon, 'status');
  assert.equal(subagents.length, 1);
});

test('subagent.kill ends one at work, and its turn is told', async (t) => {
  const daemon = await withTools(t, { approval: 'accept' });
  const { id } = await open(daemon, 'start a slow one');
  const { handle, pid } = await atWork(daemon);
  const its = processOf(pid);
  await daemon.command('subagent.kill', { handle, reason: 'enough' });
  assert.equal(textOf(await daemon.taskIn(id, 'COMPLETED')), 'I have heard of it.');
  const told = await read(daemon, 'subagent.status', { handle });
  assert.deepEqual([told.status, told.error], ['killed', 'enough']);
  await allGone([its]);
  assert.match(model.requests.at(-1).body.messages.at(-1).content, /killed: enough/);
});

test('one whose process is killed has crashed, and its turn is told', async (t) => {
  const daemon = await withTools(t, { approval: 'accept' });
  const { id } = await open(daemon, 'start a slow one');
  const { handle, pid } = await atWork(daemon);
  process.kill(pid, 'SIGKILL');
  await daemon.taskIn(id, 'COMPLETED');
  assert.equal((await read(daemon, 'subagent.status', { handle })).status, 'crashed');
});

test('cancel_everywhere_under_2s: cancelling the task ends its subagents, and nothing of them is left', async (t) => {
  const daemon = await withTools(t, { approval: 'accept' });
  const { id } = await open(daemon, 'start a slow one');
  const { handle, pid } = await atWork(daemon);
  const its = processOf(pid);
  const task = await daemon.call('CancelTask', { id }, { ms: 2_000 });
  assert.equal(task.status.state, 'TASK_STATE_CANCELED');
  await allGone([its]);
  assert.equal((await read(daemon, 'subagent.status', { handle })).status, 'cancelled');
});

test('kill -9 of the daemon leaves no subagent; somebody else\'s is unknown', async (t) => {
  const { tokens, options } = twoUsers();
  const daemon = await withTools(t, { approval: 'accept' }, options);
  const [operator, alice, bob] = ['operator', 'alice', 'bob'].map((name) => ({ token: tokens[name] }));
  await open(daemon, 'start a slow one', alice);
  const { handle, pid } = await atWork(daemon, operator);
  const refused = await daemon.command('subagent.status', { handle }, { ...bob, via: 'rpc' });
  assert.equal(refused.error.code, -32001);
  assert.equal((await read(daemon, 'subagent.status', { handle }, alice)).status, 'running');
  const its = processOf(pid);
  await daemon.kill9();
  await allGone([its]);
});

test('tokens_tree_sum: what a turn has used is its own and that of all below it', async (t) => {
  const daemon = await withTools(t, { approval: 'accept' });
  const feed = await daemon.feed();
  const task = await daemon.sendTask('deep');
  await feed.untilDone(task.id);
  const last = feed.of('activity', (data) => data.task === task.id).at(-1).data;
  const below = new Map(feed.of('subagent').map(({ data }) => [data.handle, data.tokens]));
  const { counters } = await read(daemon, 'status');
  const all = counters.tokens_in + counters.tokens_out;
  const subagents = [...below.values()].reduce((sum, tokens) => sum + tokens, 0);
  assert.ok(below.size >= 2 && subagents > 0 && subagents < all);
  // The activity was last told before the last round, whose tokens its end does not tell.
  assert.ok(last.tokens_in + last.tokens_out >= subagents);
  assert.ok(last.tokens_in + last.tokens_out <= all);
  feed.close();
});

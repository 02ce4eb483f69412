// What kill -9 leaves of an agent's turn: it goes on where it was; what had begun to change something is not begun again (runtime.md).
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { chatting, open, textOf } from './chat.mjs';
import { Daemon } from './harness.mjs';
import { ModelServer } from './model_server.mjs';
import { eventually } from './processes.mjs';

// An MCP server whose two tools note that they were called, and then take for ever while there is a file `hold`.
const SERVER = `
import { appendFileSync, existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
const tool = (name, readOnlyHint) => ({ name, description: name, inputSchema: { type: 'object' }, annotations: { readOnlyHint } });
const answers = {
  initialize: () => ({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'notes', version: '1' } }),
  'tools/list': () => ({ tools: [tool('look', true), tool('change', false)] }),
  'tools/call': ({ name }) => {
    appendFileSync('calls', name + '\\n');
    return existsSync('hold') ? undefined : { content: [{ type: 'text', text: 'done: ' + name }] };
  },
};
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  const result = answers[method]?.(params);
  if (id !== undefined && result) console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
});
`;
const uses = (userMessage, name, then) => [
  { match: { userMessage, hasToolResult: false }, response: { toolCalls: [{ name, arguments: {} }] } },
  { match: { userMessage, hasToolResult: true }, response: { content: then } },
];
const model = await ModelServer.start([
  ...uses('please look', 'notes__look', 'Looked.'),
  ...uses('please change', 'notes__change', 'Changed, perhaps.'),
  { match: { userMessage: 'think long' }, response: { content: 'Thought.' }, latency: 1_500 },
  { match: {}, response: { content: 'Something.' } },
]);
after(() => model.stop());

async function withNotes(t, over = {}) {
  const daemon = new Daemon(chatting(model, { approval: 'accept', ...over }, {
    config: { mcp: { servers: { notes: { command: process.execPath, args: ['notes.mjs'], cwd: '.' } } } },
  }));
  t.after(() => daemon.dispose());
  writeFileSync(join(daemon.folder, 'notes.mjs'), SERVER);
  await daemon.start();
  await eventually('the MCP server', () => daemon.log.includes('an MCP server is there'), 20_000);
  return daemon;
}
const calls = (daemon) => {
  const file = join(daemon.folder, 'calls');
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
};
const hold = (daemon) => join(daemon.folder, 'hold');
const toolResult = () => model.requests.at(-1).body.messages.at(-1).content;
// Kills it while its tool runs, and starts it again without what held the tool.
async function killWhileCalled(daemon, text) {
  writeFileSync(hold(daemon), '');
  const { id } = await open(daemon, text);
  await eventually('the call', () => calls(daemon).length > 0);
  await daemon.kill9();
  rmSync(hold(daemon));
  await daemon.start();
  return daemon.taskIn(id, ['COMPLETED', 'FAILED'], { ms: 20_000 });
}

test('a tool that may have changed something is not used again: the model is told that its outcome is not known', async (t) => {
  const daemon = await withNotes(t);
  const task = await killWhileCalled(daemon, 'please change');
  assert.equal(textOf(task), 'Changed, perhaps.');
  assert.deepEqual(calls(daemon), ['change']);
  assert.match(toolResult(), /Whether it took effect is not known/);
});

test('a tool that only reads is used again', async (t) => {
  const daemon = await withNotes(t);
  const task = await killWhileCalled(daemon, 'please look');
  assert.equal(textOf(task), 'Looked.');
  assert.deepEqual(calls(daemon), ['look', 'look']);
  assert.equal(toolResult(), 'done: look');
});

test('a turn that was killed while the model was asked is answered once, and so is what was said meanwhile', async (t) => {
  const daemon = await withNotes(t);
  const { id } = await open(daemon, 'think long');
  await daemon.send('and this', { message: { taskId: id }, configuration: { returnImmediately: true } });
  await daemon.kill9();
  await daemon.start();
  const task = await daemon.taskIn(id, 'COMPLETED');
  assert.equal(task.history.filter(({ role }) => role === 'ROLE_USER').length, 2);
  const { messages } = model.requests.at(-1).body;
  assert.deepEqual(messages.filter(({ role }) => role === 'user').map(({ content }) => content), ['think long\n\nand this']);
});

test('a day\'s budget outlasts the daemon', async (t) => {
  const daemon = await withNotes(t, { budget: { tokens_per_day: 1 } });
  await daemon.sendTask('anything');
  await daemon.restart({ kill: true });
  const task = await daemon.sendTask('more');
  assert.equal(task.status.state, 'TASK_STATE_FAILED');
  assert.match(task.status.message.parts[0].text, /tokens of this day are used \(agent\.budget\.tokens_per_day\)/);
});

// Tools of real MCP servers, used by turns: started and listed, approved, called, asked by, cancelled (runtime.md).
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { chatting, open, say, textOf } from './chat.mjs';
import { GATE } from './contract.mjs';
import { Daemon, startDaemon, userMessage } from './harness.mjs';
import { ModelServer } from './model_server.mjs';
import { allGone, eventually, makeFolder, processOf, removeFolder } from './processes.mjs';

const server = (name) => fileURLToPath(new URL(`./node_modules/.bin/mcp-server-${name}`, import.meta.url));
const call = (name, args) => ({ toolCalls: [{ name, arguments: args }] });
const uses = (userMessage, name, args, then) => [
  { match: { userMessage, hasToolResult: false }, response: call(name, args) },
  { match: { userMessage, hasToolResult: true }, response: { content: then } },
];

const model = await ModelServer.start([
  ...uses('read the notes', 'files__read_text_file', { path: 'notes.txt' }, 'Read.'),
  ...uses('write the notes', 'files__write_file', { path: 'new.txt', content: 'written' }, 'Written.'),
  ...uses('read the book', 'files__read_text_file', { path: 'book.txt' }, 'Read.'),
  {
    match: { userMessage: 'read it all day', hasToolResult: false },
    response: { toolCalls: Array.from({ length: 20 }, () => ({ name: 'files__read_text_file', arguments: { path: 'book.txt' } })) },
  },
  { match: { userMessage: 'read it all day', hasToolResult: true }, response: { content: 'Read.' } },
  ...uses('add', 'everything__get-sum', { a: 2, b: 40 }, 'Added.'),
  ...uses('sum up wrongly', 'everything__get-sum', { a: 'two' }, 'It did not work.'),
  ...uses('take a moment', 'everything__trigger-long-running-operation', { duration: 0.4, steps: 4 }, 'Done.'),
  ...uses('take long', 'everything__trigger-long-running-operation', { duration: 30, steps: 3 }, 'Done.'),
  ...uses('an image', 'everything__get-tiny-image', {}, 'Seen.'),
  ...uses('ask me', 'everything__trigger-elicitation-request', {}, 'Thanks.'),
]);
after(() => model.stop());

async function withTools(t, over = {}) {
  const daemon = new Daemon(chatting(model, over, {
    config: { mcp: { servers: {
      files: { command: server('filesystem'), args: ['files'], cwd: '.' },
      everything: { command: server('everything'), args: ['stdio'] },
    } } },
  }));
  (t?.after.bind(t) ?? after)(() => daemon.dispose());
  mkdirSync(join(daemon.folder, 'files'));
  writeFileSync(join(daemon.folder, 'files', 'notes.txt'), 'Buy milk.\n');
  writeFileSync(join(daemon.folder, 'files', 'book.txt'), 'It was a dark night.\n'.repeat(15_000));
  await daemon.start();
  await eventually('both MCP servers', async () => {
    const { message } = await daemon.command('status');
    return message.parts[0].data.tools > 10 && daemon.log.match(/an MCP server is there/g)?.length === 2;
  }, 30_000);
  return daemon;
}
const toolResult = () => model.requests.at(-1).body.messages.at(-1).content;

const daemon = await withTools(undefined, { approval: 'accept' });

test('the model is told the tools of each server, and what a tool gave is its next word', async () => {
  const feed = await daemon.feed();
  const task = await daemon.sendTask('add');
  assert.equal(textOf(task), 'Added.');
  assert.match(toolResult(), /42/);
  const { tools } = model.requests.at(-1).body;
  const named = tools.map(({ function: { name } }) => name);
  for (const name of ['files__read_text_file', 'everything__get-sum', 'ask_human', 'subagent_run']) assert.ok(named.includes(name), name);
  await feed.untilDone(task.id);
  const phases = feed.of('activity', (data) => data.task === task.id).map(({ data: { phase, tool } }) => [phase, tool]);
  assert.deepEqual(phases, [['thinking', null], ['tool', 'everything__get-sum'], ['thinking', null]]);
  feed.close();
});

test('what is too long for the model is an artifact, as long as the task has room for it', async () => {
  const task = await daemon.sendTask('read the book');
  const put = ({ artifacts }) => artifacts.filter(({ artifactId }) => artifactId.startsWith('tool-'));
  assert.match(put(task)[0].parts[0].text, /^(It was a dark night\.\n){12000}/);
  assert.match(toolResult(), /^(It was a dark night\.\n){1000,2000}\w/);
  const more = put(await daemon.sendTask('read it all day'));
  const bytes = JSON.stringify(more).length;
  assert.ok(more.length < 20 && bytes > 3 << 20 && bytes < 5 << 20, `${more.length} artifacts, ${bytes} bytes`);
});

test('each server is a child on the feed, in a group of its own', async () => {
  const { message } = await daemon.command('status');
  const kinds = message.parts[0].data.children.map(({ kind }) => kind).sort();
  assert.deepEqual(kinds, ['mcp:everything', 'mcp:files']);
});

test('arguments that miss the tool\'s schema are told to the model, with their place, and the tool is not called', async () => {
  const task = await daemon.sendTask('sum up wrongly');
  assert.equal(textOf(task), 'It did not work.');
  assert.match(toolResult(), /arguments/);
});

test('an image is an artifact, and a note to the model', async () => {
  const task = await daemon.sendTask('an image');
  const image = task.artifacts.find(({ name }) => name === 'everything__get-tiny-image');
  assert.ok(image.parts.some(({ raw, mediaType }) => raw && mediaType === 'image/png'));
  assert.match(toolResult(), /\[image image\/png/);
});

test('how far a tool is is the message of the status while it works', async () => {
  const stream = await daemon.stream('SendStreamingMessage', { message: userMessage('take a moment') });
  const said = (await stream.results()).map(({ statusUpdate }) => statusUpdate?.status.message?.parts[0].text).filter(Boolean);
  assert.ok(said.some((text) => /^everything__trigger-long-running-operation: .*[1-4] of 4/.test(text)), said.join('\n'));
});

test('cancel_everywhere_under_2s: a task whose tool is at work is cancelled at once, and the server lives on', async () => {
  const { id } = await open(daemon, 'take long');
  await eventually('the tool', async () => {
    const { message } = await daemon.command('status');
    return message.parts[0].data.activity.some(({ task, phase }) => task === id && phase === 'tool');
  });
  const task = await daemon.call('CancelTask', { id }, { ms: 2_000 });
  assert.equal(task.status.state, 'TASK_STATE_CANCELED');
  assert.equal(textOf(await daemon.sendTask('add')), 'Added.');
});

test('a tool may ask a person while it works, and goes on with the answer', async () => {
  const task = await daemon.sendTask('ask me');
  assert.equal(task.status.state, 'TASK_STATE_INPUT_REQUIRED');
  const gate = task.status.message.metadata[GATE];
  assert.deepEqual([gate.kind, gate.tool], ['elicitation', 'everything__trigger-elicitation-request']);
  const answered = await say(daemon, task, [{ data: { name: 'Ada', check: true } }]);
  assert.equal(answered.error, undefined, answered.text);
  const done = await daemon.taskIn(task.id, 'COMPLETED');
  assert.equal(textOf(done), 'Thanks.');
  assert.match(toolResult(), /Ada/);
});

test('approval: what only reads is used at once, about the rest a person is asked', async (t) => {
  const asking = await withTools(t, { approval: 'auto' });
  assert.equal(textOf(await asking.sendTask('read the notes')), 'Read.');
  assert.match(toolResult(), /Buy milk/);
  const task = await asking.sendTask('write the notes');
  assert.equal(task.status.state, 'TASK_STATE_INPUT_REQUIRED');
  const gate = task.status.message.metadata[GATE];
  assert.deepEqual([gate.kind, gate.tool, gate.arguments], ['approval', 'files__write_file', { path: 'new.txt', content: 'written' }]);
  const denied = await asking.sendTask('no', { message: { taskId: task.id } });
  assert.equal(textOf(denied), 'Written.');  // the model's word; what it was told is the point
  assert.match(toolResult(), /not allowed/);
  assert.throws(() => readFileSync(join(asking.folder, 'files', 'new.txt')));
  const again = await asking.sendTask('write the notes');
  await asking.sendTask('yes', { message: { taskId: again.id } });
  assert.equal(readFileSync(join(asking.folder, 'files', 'new.txt'), 'utf8'), 'written');
});

test('a decision is about one call, even when the model gives the next one the same id', async (t) => {
  const twice = (userMessage, seen) => ({
    match: { userMessage, ...seen },
    response: { toolCalls: [{ id: 'call_0', name: 'files__write_file', arguments: { path: 'new.txt', content: 'x' } }] },
  });
  const careless = await ModelServer.start([
    twice('write twice', { hasToolResult: false }),
    twice('write twice', { sequenceIndex: 0, hasToolResult: true }),
    { match: {}, response: { content: 'Done.' } },
  ]);
  t.after(() => careless.stop());
  const asking = await withTools(t, { approval: 'ask', model: { provider: 'openai', model: 'm', endpoint: careless.url } });
  const task = await asking.sendTask('write twice');
  assert.equal(task.status.message.metadata[GATE].kind, 'approval');
  const second = await asking.sendTask('yes', { message: { taskId: task.id } });
  assert.equal(second.status.state, 'TASK_STATE_INPUT_REQUIRED');
  assert.notEqual(second.status.message.metadata[GATE].id, task.status.message.metadata[GATE].id);
  assert.equal(textOf(await asking.sendTask('no', { message: { taskId: task.id } })), 'Done.');
});

test('admin.set agent.approval holds for the next use', async (t) => {
  const asking = await withTools(t, { approval: 'ask' });
  assert.equal((await asking.sendTask('add')).status.state, 'TASK_STATE_INPUT_REQUIRED');
  await asking.command('admin.set', { path: 'agent.approval', value: 'accept' });
  assert.equal(textOf(await asking.sendTask('add')), 'Added.');
});

test('what a server keeps for itself is there in the daemon\'s next life', async (t) => {
  const entity = { name: 'Ada', entityType: 'person', observations: ['likes engines'] };
  const remembering = await ModelServer.start([
    ...uses('remember', 'memory__create_entities', { entities: [entity] }, 'Remembered.'),
    ...uses('who', 'memory__read_graph', {}, 'Ada.'),
  ]);
  t.after(() => remembering.stop());
  const folder = makeFolder();
  t.after(() => removeFolder(folder));
  const memory = { command: server('memory'), env: { MEMORY_FILE_PATH: join(folder, 'memory.json') } };
  const own = await startDaemon(t, chatting(remembering, { approval: 'accept' }, { config: { mcp: { servers: { memory } } } }));
  assert.equal(textOf(await own.sendTask('remember')), 'Remembered.');
  await own.restart({ kill: true });
  assert.equal(textOf(await own.sendTask('who')), 'Ada.');
  assert.match(remembering.requests.at(-1).body.messages.at(-1).content, /likes engines/);
});

test('nothing of a server outlives the daemon, not even its kill', async (t) => {
  const own = await withTools(t, {});
  const { message } = await own.command('status');
  const children = message.parts[0].data.children.map(({ pid }) => processOf(pid));
  assert.equal(children.length, 2);
  await own.kill9();
  await allGone(children);
});

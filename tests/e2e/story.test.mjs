// The story of the README: "explain this repository". A model, the filesystem server over a real checkout, a subagent for one folder, an
// approval in the middle, and a second client that watches all of it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { chatting, open, textOf } from './chat.mjs';
import { ANNOTATIONS, GATE } from './contract.mjs';
import { assertCausal } from './feed_reader.mjs';
import { Daemon, users } from './harness.mjs';
import { ModelServer } from './model_server.mjs';
import { eventually } from './processes.mjs';

const filesystem = fileURLToPath(new URL('./node_modules/.bin/mcp-server-filesystem', import.meta.url));
const wants = (...toolCalls) => ({ toolCalls: toolCalls.map(([name, args]) => ({ name, arguments: args })) });
const said = (text) => ({ hasToolResult: true, toolResultContains: text });

const model = await ModelServer.start([
  { match: { userMessage: 'explain this repository', hasToolResult: false }, response: {
    content: 'I look at the top, and have a subagent look at docs.',
    ...wants(
      ['repo__list_directory', { path: '.' }],
      ['subagent_run', { instruction: 'Say what the folder docs is about.', tools: ['repo__list_directory', 'repo__read_text_file'] }],
    ),
  } },
  { match: { userMessage: 'folder docs', hasToolResult: false }, response: wants(['repo__read_text_file', { path: 'docs/guide.md' }]) },
  { match: { userMessage: 'folder docs', hasToolResult: true }, response: { content: 'A guide for people in a hurry.' } },
  { match: { userMessage: 'explain this repository', ...said('wrote to') }, response: { content: 'It is explained in EXPLAINED.md.' } },
  { match: { userMessage: 'explain this repository', ...said('hurry') }, response: wants(
    ['repo__write_file', { path: 'EXPLAINED.md', content: '# Explained\n\nA guide for people in a hurry.\n' }],
  ) },
]);
after(() => model.stop());

// A checkout with two commits.
function checkout(folder) {
  const repository = join(folder, 'repository');
  const git = (...args) => execFileSync('git', ['-C', repository, '-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args]);
  execFileSync('git', ['init', '-q', repository]);
  execFileSync('sh', ['-c', 'echo "# A tool" > README.md; mkdir docs; echo "Hurry up." > docs/guide.md'], { cwd: repository });
  git('add', 'README.md');
  git('commit', '-qm', 'Begin');
  git('add', '.');
  git('commit', '-qm', 'Document');
  return repository;
}

test('explain this repository', async (t) => {
  const { tokens, options } = users(['alice'], { mcp: { servers: { repo: { command: filesystem, args: ['.'], cwd: 'repository' } } } });
  const daemon = new Daemon(chatting(model, { approval: 'auto' }, options));
  t.after(() => daemon.dispose());
  const repository = checkout(daemon.folder);
  await daemon.start();
  await eventually('the filesystem server', () => daemon.log.includes('an MCP server is there'), 30_000);

  // The second client: an operator who watches everything, and is asked nothing.
  const watching = await daemon.feed({ token: tokens.operator });
  const { id } = await open(daemon, 'Please explain this repository.', { token: tokens.alice });

  // In the middle the agent wants to write a file, and a person is asked.
  const waiting = await daemon.taskIn(id, 'INPUT_REQUIRED', { token: tokens.alice, extensions: [ANNOTATIONS], ms: 20_000 });
  const gate = waiting.status.message.metadata[GATE];
  assert.deepEqual([gate.kind, gate.tool, gate.arguments.path], ['approval', 'repo__write_file', 'EXPLAINED.md']);
  assert.deepEqual(waiting.metadata[ANNOTATIONS].askSchema.required, ['decision']);
  assert.equal(existsSync(join(repository, 'EXPLAINED.md')), false);

  const task = await daemon.sendTask('yes', { message: { taskId: id }, token: tokens.alice });
  assert.equal(task.status.state, 'TASK_STATE_COMPLETED', JSON.stringify(task.status));
  assert.equal(textOf(task), 'It is explained in EXPLAINED.md.');
  assert.match(readFileSync(join(repository, 'EXPLAINED.md'), 'utf8'), /people in a hurry/);

  // What the operator saw of it: each thing as it happened, in order.
  await watching.untilDone(id);
  assertCausal(watching.events);
  const states = watching.of('task', (data) => data.task.id === id).map(({ data }) => data.task.status.state.slice('TASK_STATE_'.length));
  assert.deepEqual(states.filter((state, i) => state !== states[i - 1]),
    ['SUBMITTED', 'WORKING', 'INPUT_REQUIRED', 'WORKING', 'COMPLETED']);
  const tools = watching.of('activity', (data) => data.task === id).map(({ data }) => data.tool).filter(Boolean);
  assert.ok(tools.includes('repo__list_directory') && tools.includes('repo__write_file'), tools.join());
  const subagents = watching.of('subagent').map(({ data }) => data.status);
  assert.deepEqual([subagents[0], subagents.at(-1)], ['running', 'completed']);
  assert.ok(watching.of('child', ({ kind }) => kind.startsWith('subagent:')).length > 0);
  watching.close();
});

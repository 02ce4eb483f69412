// Other A2A agents as tools: a real one, made with the official SDK, is handed work, followed, answered and cancelled.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';

import { chatting, open, textOf } from './chat.mjs';
import { startDaemon } from './harness.mjs';
import { ModelServer } from './model_server.mjs';
import { Peer } from './peer.mjs';
import { eventually } from './processes.mjs';

const send = (args) => ({ toolCalls: [{ name: 'research__send', arguments: args }] });
const delegates = (userMessage, message, content) => [
  { match: { userMessage, hasToolResult: false }, response: send({ message }) },
  { match: { userMessage, hasToolResult: true }, response: { content } },
];
const model = await ModelServer.start([
  ...delegates('research this', 'work', 'It says so.'),
  ...delegates('research and ask', 'ask', 'It asks.'),
  ...delegates('research for ever', 'hang', 'Never.'),
  ...delegates('research over a cut', 'cut', 'It came after all.'),
]);
after(() => model.stop());
const peer = await Peer.start();
after(() => peer.stop());

const daemon = await startDaemon(undefined, chatting(model, { approval: 'accept' }, {
  config: { a2a: { peers: [{ name: 'research', url: peer.url, bearer: { env: 'RESEARCH_TOKEN' } }] } },
  env: { RESEARCH_TOKEN: 'token-of-research' },
}));
const toolResult = () => model.requests.at(-1).body.messages.at(-1).content;

test('a peer is a tool; what its stream tells is put together, and its token goes along', async () => {
  const task = await daemon.sendTask('research this');
  assert.equal(textOf(task), 'It says so.');
  assert.equal(toolResult(), 'part one, part two');
  const tool = model.requests.at(-1).body.tools.find(({ function: { name } }) => name === 'research__send').function;
  assert.match(tool.description, /Hands work to the agent research.*Researcher: Finds things out/s);
  assert.equal(peer.seen.at(-1).authorization, 'Bearer token-of-research');
});

test('what a peer asks is the model\'s to answer, with the peer\'s task', async () => {
  assert.equal(textOf(await daemon.sendTask('research and ask')), 'It asks.');
  assert.match(toolResult(), /The agent asks: Which one\?\n\(Answer with this tool and task "[\w-]+"\.\)/);
});

test('a stream that is cut is gone on with', async () => {
  const task = await daemon.sendTask('research over a cut');
  assert.equal(textOf(task), 'It came after all.');
  assert.equal(toolResult(), 'whole at last');
  assert.ok(peer.seen.some(({ method }) => method === 'SubscribeToTask' || method === 'GetTask'));
});

test('cancelling here cancels there', async () => {
  const { id } = await open(daemon, 'research for ever');
  await eventually('the peer to work', () => peer.working.size > 0);
  const task = await daemon.call('CancelTask', { id }, { ms: 2_000 });
  assert.equal(task.status.state, 'TASK_STATE_CANCELED');
  await eventually('the peer to stop', () => peer.working.size === 0);
});

test('a peer that is not there is an error to the model, and the turn goes on', async (t) => {
  const alone = await startDaemon(t, chatting(model, { approval: 'accept' }, {
    config: { a2a: { peers: [{ name: 'research', url: 'http://127.0.0.1:9' }] } },
  }));
  assert.equal(textOf(await alone.sendTask('research this')), 'It says so.');
  assert.match(toolResult(), /cannot be reached/);
});

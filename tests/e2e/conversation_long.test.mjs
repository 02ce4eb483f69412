// A conversation that has become longer than the model's window: old results of tools are cut, what is older is summarised, and nothing of
// the conversation itself is lost (docs/agent.md).
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { chatting, textOf } from './chat.mjs';
import { startDaemon } from './harness.mjs';
import { ModelServer } from './model_server.mjs';

const COUNTED = { match: {}, response: { content: `Counted. ${'So it goes. '.repeat(20)}` } };
const NOTES = 'The person counts; the last number was told.';
const model = await ModelServer.start([
  { match: { userMessage: 'Write the notes' }, response: { content: NOTES } },
  COUNTED,
]);

// One after the other in one conversation, each too long to be kept whole.
async function count(daemon, contextId, upTo) {
  for (let i = 1; i <= upTo; ++i) {
    const task = await daemon.sendTask(`The number is ${i}. ${'It is a number like any other. '.repeat(8)}`, { message: { contextId } });
    assert.ok(textOf(task).startsWith('Counted.'), JSON.stringify(task.status));
  }
}

test('what does not fit the window is summarised once, and the summary stands for it', async (t) => {
  t.after(() => model.stop());
  const options = chatting(model);
  Object.assign(options.config.agent.model, { context_tokens: 2_000, max_tokens: 200 });
  const daemon = await startDaemon(t, { ...options, config: { ...options.config, a2a: { introspection: { enabled: true } } } });
  const contextId = 'counting';
  const numbersTold = 24;
  await count(daemon, contextId, numbersTold);
  const asked = model.requests.map(({ body }) => body.messages);
  const summaries = asked.filter((messages) => messages.at(-1).content.startsWith('Write the notes'));
  assert.ok(summaries.length >= 1 && summaries.length <= 4, `${summaries.length} summaries`);
  // A request after it begins with the notes, and stays within the window.
  const last = asked.at(-1).filter(({ role }) => role !== 'system');
  assert.match(last[0].content, new RegExp(`^What was said before, in short:\\n${NOTES}`));
  for (const messages of asked) assert.ok(JSON.stringify(messages).length / 4 < 2_400, 'within the window, about');
  assert.match(last.at(-1).content, new RegExp(`^The number is ${numbersTold}\\.`));
  // The conversation has all of it.
  const { message } = await daemon.command('conversation.get', { id: contextId, limit: 1_000 });
  const { messages, summary } = message.parts[0].data.conversation;
  assert.equal(summary, NOTES);
  const numbers = messages.filter(({ role }) => role === 'ROLE_USER').map(({ parts }) => Number(/\d+/.exec(parts[0].text)[0]));
  assert.deepEqual(numbers, Array.from({ length: numbersTold }, (_, i) => i + 1));
});

test('notes that were cut off stand for nothing: what is old is left out then', async (t) => {
  const half = await ModelServer.start([
    { match: { userMessage: 'Write the notes' }, response: { content: 'The person cou', finishReason: 'length' } }, COUNTED,
  ]);
  t.after(() => half.stop());
  const options = chatting(half);
  Object.assign(options.config.agent.model, { context_tokens: 2_000, max_tokens: 200 });
  const daemon = await startDaemon(t, options);
  await count(daemon, 'counting', 12);
  const asked = half.requests.map(({ body }) => body.messages);
  assert.ok(asked.some((messages) => messages.at(-1).content.startsWith('Write the notes')));
  assert.ok(!JSON.stringify(asked).includes('The person cou'));
  for (const messages of asked) assert.ok(JSON.stringify(messages).length / 4 < 2_400, 'within the window, about');
  assert.match(daemon.log, /wrote no notes of a conversation/);
});

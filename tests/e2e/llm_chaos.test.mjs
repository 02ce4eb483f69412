// llm_chaos: a model that is busy, cut off, broken or silent gives a turn that is tried again or fails, and never half an answer as a
// whole one; in both dialects (runtime.md, docs/models.md).
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { chatting, textOf } from './chat.mjs';
import { startDaemon } from './harness.mjs';
import { ModelServer } from './model_server.mjs';

const WHOLE = 'This is the whole answer, from its first word to its last.';
const good = { match: {}, response: { content: WHOLE }, chunkSize: 4 };
const first = (response, more = {}) => ({ match: { sequenceIndex: 0 }, response, ...more });

// What the first attempt meets; the second one is answered.
const accidents = {
  'is busy (429, Retry-After)': first({ error: { message: 'slow down', type: 'rate_limit_error' }, status: 429, retryAfter: 0 }),
  'fails (500)': first({ error: { message: 'oops', type: 'server_error' }, status: 500 }),
  'is cut in the middle of its answer': first({ content: WHOLE }, { chunkSize: 4, truncateAfterChunks: 3 }),
  'says nothing': first({ content: '' }),
};

for (const provider of ['openai', 'anthropic']) {
  const start = async (t, replies, { model: more, ...over } = {}) => {
    const model = await ModelServer.start(replies);
    t.after(() => model.stop());
    const options = chatting(model, over);
    Object.assign(options.config.agent.model, { provider, ...more });
    return { model, daemon: await startDaemon(t, options) };
  };

  for (const [what, accident] of Object.entries(accidents)) {
    test(`${provider}: a model that ${what} is asked again, and the answer is whole`, async (t) => {
      const { model, daemon } = await start(t, [accident, good]);
      const task = await daemon.sendTask('hello');
      assert.equal(task.status.state, 'TASK_STATE_COMPLETED', JSON.stringify(task.status));
      assert.equal(textOf(task), WHOLE);
      assert.equal(model.requests.length, 2);
    });
  }

  test(`${provider}: a model that never answers as a whole fails the turn, and says why; the key is nowhere`, async (t) => {
    const { daemon } = await start(t, [good], { model: { retries: 1 } });
    const { model, daemon: cut } = await start(t, [{ ...good, truncateAfterChunks: 3 }], { model: { retries: 1 } });
    const feed = await cut.feed();
    const task = await cut.sendTask('hello');
    assert.equal(task.status.state, 'TASK_STATE_FAILED');
    assert.match(task.status.message.parts[0].text, /^Failed: the model did not answer \(attempts: 2\): 127\.0\.0\.1:\d+: the connection ended/);
    assert.equal(model.requests.length, 2);
    await feed.untilDone(task.id);
    const seen = [cut.log, JSON.stringify(feed.events), JSON.stringify(task),
      JSON.stringify(await cut.command('config')), readFileSync(join(cut.stateFolder, 'agentd.db'), 'latin1')];
    for (const text of seen) assert.ok(!text.includes('sk-test-0123456789'));
    feed.close();
    assert.equal(textOf(await daemon.sendTask('hello')), WHOLE);
  });

  test(`${provider}: the next endpoint of the list answers when the first refuses`, async (t) => {
    const refusing = await ModelServer.start([first({ error: { message: 'no such model', type: 'not_found_error' }, status: 404 })]);
    t.after(() => refusing.stop());
    const { model, daemon } = await start(t, [good], { model: { retries: 3 } });
    const two = [refusing.url, model.url];
    const options = chatting(model);
    Object.assign(options.config.agent.model, { provider, endpoint: undefined, endpoints: two.map((url) => ({ url })) });
    delete options.config.agent.model.endpoint;
    const both = await startDaemon(t, options);
    assert.equal(textOf(await both.sendTask('hello')), WHOLE);
    assert.equal(refusing.requests.length, 1);
    assert.equal(textOf(await daemon.sendTask('hello')), WHOLE);
  });
}

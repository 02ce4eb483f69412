// Each kind of the feed, made by the thing itself, over HTTP; the reader holds every frame to the published schema
// (events.md section 10).
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';

import { chatting } from './chat.mjs';
import { KINDS } from './contract.mjs';
import { startDaemon, users } from './harness.mjs';
import { ModelServer } from './model_server.mjs';
import { done, letIn, signIn } from './sign_in.mjs';
import { workflows } from './workflows.mjs';

test('feed_each_kind_over_http', async (t) => {
  const { tokens, options } = users(['alice'], {
    a2a: { ...signIn().a2a, introspection: { enabled: true } }, workflows: [workflows.pair],
  });
  const daemon = await startDaemon(t, options);
  const [operator, alice] = ['operator', 'alice'].map((name) => ({ token: tokens[name] }));
  const feed = await daemon.feed(operator);
  await letIn({ daemon, operator }, 'ada');
  await daemon.sendTask('tool', alice);
  const { task } = await daemon.command('workflow.run', { workflow: 'pair' }, alice);
  await done(daemon, 'admin.pause', {}, operator);
  await done(daemon, 'admin.resume', {}, operator);
  await feed.untilDone(task.id);
  await dropAll(daemon, feed, ['task.removed', 'run.removed', 'conversation.removed', 'config']);
  const seen = new Set([...feed.events, ...await eventsOfAnAgent(t)].map(({ kind }) => kind));
  assert.deepEqual([...KINDS.keys()].filter((kind) => !seen.has(kind)), []);
  feed.close();
});

// A reload that keeps nothing of what has ended, and the departures that it makes.
async function dropAll(daemon, feed, kinds) {
  const nothing = { keep_last: 0 };
  writeFileSync(daemon.configFile, JSON.stringify({
    ...daemon.config, store: { retention: { tasks: nothing, runs: nothing, conversations: nothing } },
  }));
  const left = new Set(kinds);
  while (left.size > 0) left.delete((await feed.until('what leaves', ({ kind }) => left.has(kind))).kind);
}

// Of one that has a model and starts a subagent.
async function eventsOfAnAgent(t) {
  const model = await ModelServer.start([
    { match: { userMessage: 'delegate', hasToolResult: false }, response: {
      toolCalls: [{ name: 'subagent_run', arguments: { instruction: 'Look around.' } }],
    } },
    { match: {}, response: { content: 'Done.' } },
  ]);
  t.after(() => model.stop());
  const daemon = await startDaemon(t, chatting(model));
  const feed = await daemon.feed();
  await daemon.sendTask('delegate');
  await dropAll(daemon, feed, ['conversation.removed', 'subagent.removed', 'child.removed']);
  feed.close();
  return feed.events;
}

// Each kind of the feed, made by the thing itself, over HTTP; the reader holds every frame to the published schema
// (events.md section 10).
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';

import { KINDS } from './contract.mjs';
import { startDaemon, users } from './harness.mjs';
import { done, letIn, signIn } from './sign_in.mjs';
import { workflows } from './workflows.mjs';

// Those that nothing makes yet.
const LATER = ['subagent', 'subagent.removed'];

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
  const nothing = { keep_last: 0 };
  writeFileSync(daemon.configFile, JSON.stringify({
    ...daemon.config, store: { retention: { tasks: nothing, runs: nothing, conversations: nothing } },
  }));
  const left = new Set(['task.removed', 'run.removed', 'conversation.removed', 'config']);
  while (left.size > 0) left.delete((await feed.until('what leaves', ({ kind }) => left.has(kind))).kind);
  const seen = new Set(feed.events.map(({ kind }) => kind));
  assert.deepEqual([...KINDS.keys()].filter((kind) => !seen.has(kind)).sort(), LATER);
  feed.close();
});

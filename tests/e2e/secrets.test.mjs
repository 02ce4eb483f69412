// A planted secret appears nowhere but where it was planted (runtime.md, rule 7).
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { Daemon, request } from './harness.mjs';
import { run } from './processes.mjs';
import { workflows } from './workflows.mjs';

function* filesUnder(folder) {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) yield* filesUnder(path);
    else yield path;
  }
}

test('secret_canary', async (t) => {
  const canary = () => `canary-${randomBytes(16).toString('hex')}`;
  const tokens = { operator: canary(), alice: canary() };
  const daemon = new Daemon({ env: { ALICE_TOKEN: tokens.alice } });
  t.after(() => daemon.dispose());
  const file = join(daemon.folder, 'operator.token');
  writeFileSync(file, `${tokens.operator}\n`, { mode: 0o600 });
  daemon.config.a2a.bearer = { file };
  daemon.config.a2a.principals = [{ id: 'alice', role: 'user', match: { bearer_ref: { env: 'ALICE_TOKEN' } } }];
  daemon.config.log.level = 'debug';
  daemon.config.workflows = [workflows.pair, workflows.broken];
  await daemon.start();

  const seen = {};
  const note = (where, what) => {
    seen[where] = `${seen[where] ?? ''}${typeof what === 'string' ? what : JSON.stringify(what)}\n`;
  };
  const feed = await daemon.feed({ token: tokens.operator });
  for (const token of Object.values(tokens)) {
    const answers = [
      await daemon.rpc('GetExtendedAgentCard', undefined, { token }),
      await daemon.send('hello', { token }),
      await daemon.send('direct', { token }),
      await daemon.command('workflow.run', { workflow: 'pair' }, { token }),
      await daemon.command('workflow.run', { workflow: 'broken' }, { token }),
      await daemon.command('status', {}, { token }),
      await daemon.command('no.such.op', {}, { via: 'rpc', token }),
      await daemon.rpc('GetTask', { id: 'none' }, { token }),
      await daemon.rpc('ListTasks', { includeArtifacts: true }, { token }),
    ];
    note('answers', answers);
  }
  // Wrong by one letter: what is presented is not logged either.
  const wrong = await daemon.rpc('ListTasks', {}, { token: `${tokens.alice}x` });
  assert.equal(wrong.status, 401);
  note('errors', wrong);
  note('card', (await request(`${daemon.url}/.well-known/agent-card.json`)).text);
  const { id } = await daemon.sendTask('hello', { token: tokens.operator });
  await feed.untilDone(id);
  note('feed', feed.events);
  feed.close();
  await daemon.stop();
  note('log', daemon.log + daemon.program.stdout);
  for (const path of filesUnder(daemon.stateFolder)) note('store', readFileSync(path).toString('latin1'));

  daemon.config.a2a.events = { rinng: 5 };
  writeFileSync(daemon.configFile, JSON.stringify(daemon.config));
  for (const command of ['check', 'serve']) {
    note('check', await run([command, '-c', daemon.configFile], { env: daemon.env, cwd: daemon.folder }));
  }
  assert.deepEqual(Object.keys(seen), ['answers', 'errors', 'card', 'feed', 'log', 'store', 'check']);
  for (const [where, text] of Object.entries(seen)) {
    for (const [whose, secret] of Object.entries(tokens)) {
      assert.equal(text.includes(secret), false, `the token of ${whose} appears in: ${where}`);
      assert.equal(text.includes(Buffer.from(secret).toString('base64').slice(4, -6)), false, `coded, in: ${where}`);
    }
  }
});

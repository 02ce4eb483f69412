// A planted secret appears nowhere but where it was planted (runtime.md, rule 7).
import assert from 'node:assert/strict';
import { createPrivateKey, randomBytes } from 'node:crypto';
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { Authority } from './certificates.mjs';
import { Daemon, request } from './harness.mjs';
import { eventually, makeFolder, removeFolder, run } from './processes.mjs';
import { ask, done, form, poll, said } from './sign_in.mjs';
import { workflows } from './workflows.mjs';

function* filesUnder(folder) {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) yield* filesUnder(path);
    else yield path;
  }
}

// What a secret looks like where it leaks: as it is, coded, or the number that is written in it.
function formsOf(secret) {
  const forms = [secret, Buffer.from(secret).toString('base64').slice(4, -6)];
  const [hex] = /[0-9a-f]{64}/.exec(secret) ?? [];
  return hex ? [...forms, hex, ...formsOfBytes(Buffer.from(hex, 'hex'))] : forms;
}
// The bytes themselves are what a row of the store could hold.
const formsOfBytes = (bytes) => [
  bytes.toString('latin1'), bytes.toString('hex'), bytes.toString('base64').replace(/=+$/, ''), bytes.toString('base64url')];

// The private number of a key, and its file line by line.
function formsOfKey(file) {
  const pem = readFileSync(file, 'utf8');
  const { d } = createPrivateKey(pem).export({ format: 'jwk' });
  return [...formsOfBytes(Buffer.from(d, 'base64url')), ...pem.split('\n').filter((line) => /^[A-Za-z0-9+/=]{20,}$/.test(line))];
}

test('secret_canary', async (t) => {
  const canary = () => `canary-${randomBytes(16).toString('hex')}`;
  const tokens = { operator: canary(), alice: canary() };
  const folder = makeFolder();
  t.after(() => removeFolder(folder));
  const authority = new Authority(folder);
  const server = authority.issueServer();
  const daemon = new Daemon({ env: { ALICE_TOKEN: tokens.alice }, tls: { ca: authority.pem } });
  t.after(() => daemon.dispose());
  const file = join(daemon.folder, 'operator.token');
  writeFileSync(file, `${tokens.operator}\n`, { mode: 0o600 });
  Object.assign(daemon.config.a2a, {
    listen: 'https://127.0.0.1:0', tls: server, bearer: { file },
    principals: [{ id: 'alice', role: 'user', match: { bearer_ref: { env: 'ALICE_TOKEN' } } }],
    device_grant: { enabled: true }, introspection: { enabled: true },
  });
  daemon.config.log.level = 'debug';
  daemon.config.workflows = [workflows.pair, workflows.broken];
  await daemon.start();
  const operator = { token: tokens.operator };

  const seen = {};
  const note = (where, what) => {
    seen[where] = `${seen[where] ?? ''}${typeof what === 'string' ? what : JSON.stringify(what)}\n`;
  };
  const feed = await daemon.feed(operator);

  // A sign-in: its codes and its token are told to the device alone.
  const asked = await ask(daemon);
  note('answers', await said(daemon, 'auth.device.pending', {}, operator));
  note('answers', await done(daemon, 'auth.device.approve', { user_code: asked.user_code, as: 'ada' }, operator));
  tokens.session = (await poll(daemon, asked)).json().access_token;
  const secrets = { ...tokens, device_code: asked.device_code };
  note('errors', (await poll(daemon, asked)).text);

  for (const token of Object.values(tokens)) {
    const answers = [
      await daemon.rpc('GetExtendedAgentCard', undefined, { token }),
      await daemon.send('hello', { token }),
      await daemon.send('direct', { token }),
      await daemon.command('workflow.run', { workflow: 'pair' }, { token }),
      await daemon.command('workflow.run', { workflow: 'broken' }, { token }),
      await daemon.command('no.such.op', {}, { via: 'rpc', token }),
      await daemon.command('auth.sessions', {}, { via: 'rpc', token }),
      await daemon.rpc('GetTask', { id: 'none' }, { token }),
      await daemon.rpc('ListTasks', { includeArtifacts: true }, { token }),
    ];
    note('answers', answers);
    note('status', await daemon.command('status', {}, { token }));
  }

  // What is presented is not told either: wrong by a letter, out of place, or of a session that is over.
  const refused = [
    ...await Promise.all(Object.values(tokens).map((token) => daemon.rpc('ListTasks', {}, { token: `${token}x` }))),
    await request(`${daemon.url}/events?access_token=${tokens.alice}`, { tls: daemon.tls }),
    await daemon.rpc('ListTasks', {}, { headers: { authorization: `Basic ${tokens.alice}` } }),
  ];
  await form(daemon, '/oauth2/revoke', { token: tokens.session });
  refused.push(await daemon.rpc('ListTasks', {}, { token: tokens.session }));
  for (const answer of refused) assert.equal(answer.status, 401);
  note('errors', refused);
  note('card', (await request(`${daemon.url}/.well-known/agent-card.json`, { tls: daemon.tls })).text);

  // A key that is not that of the certificate is complained of when the next one connects.
  const key = formsOfKey(server.key);
  const other = new Authority(folder, 'other');
  writeFileSync(server.key, readFileSync(other.key));
  await eventually('a complaint', async () => {
    await daemon.getTask('none', operator).catch(() => {});
    daemon.agent.destroy();
    return daemon.log.includes('cannot be used');
  });
  const { id } = await daemon.sendTask('hello', operator);
  await feed.untilDone(id);
  for (const kind of ['audit', 'auth', 'status', 'task']) assert.ok(feed.of(kind).length > 0, kind);
  note('feed', feed.events.filter(({ kind }) => kind !== 'audit'));
  note('audit', feed.of('audit'));
  feed.close();
  await daemon.stop();
  note('log', daemon.log + daemon.program.stdout);
  for (const path of filesUnder(daemon.stateFolder)) note('store', readFileSync(path).toString('latin1'));

  // What is wrong with a configuration: a key, the files of TLS, and a secret where a reference to one belongs.
  const broken = join(folder, 'broken.key');
  writeFileSync(broken, readFileSync(other.key, 'utf8').replace('BEGIN', 'BEGUN'));
  const whole = daemon.config.a2a;
  for (const a2a of [{ ...whole, events: { rinng: 5 } }, { ...whole, tls: { ...server, key: broken } },
    { ...whole, tls: { cert: server.key, key: other.key } }, { ...whole, bearer: tokens.operator },
    { ...whole, bearer: { env: tokens.operator } }, { ...whole, bearer: { token: tokens.operator } }]) {
    writeFileSync(daemon.configFile, JSON.stringify({ ...daemon.config, a2a }));
    for (const command of [['check'], ['check', '--output', 'json'], ['serve']]) {
      const ended = await run([...command, '-c', daemon.configFile], { env: daemon.env, cwd: daemon.folder });
      assert.equal(ended.code, 2, ended.stderr);
      note('config', ended);
    }
  }

  const wanted = ['answers', 'audit', 'card', 'config', 'errors', 'feed', 'log', 'status', 'store'];
  assert.deepEqual(Object.keys(seen).sort(), wanted);
  const forms = Object.entries(secrets).map(([whose, secret]) => [whose, formsOf(secret)]);
  forms.push(['the key of TLS', [...key, ...formsOfKey(other.key)]]);
  for (const [where, text] of Object.entries(seen)) {
    for (const [whose, all] of forms) {
      for (const form_ of all) assert.equal(text.includes(form_), false, `the secret of ${whose} appears in: ${where}`);
    }
  }
});

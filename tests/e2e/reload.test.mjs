// What a person writes is taken up while the daemon runs: as a whole or not at all, and at once (config.md, access.md
// section 5).
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { Daemon, startDaemon, twoUsers, users } from './harness.mjs';
import { eventually } from './processes.mjs';
import { assertRefused } from './refusals.mjs';
import { done, said } from './sign_in.mjs';
import { workflows } from './workflows.mjs';

async function start(t, more = {}) {
  const { tokens, options } = twoUsers(more);
  const daemon = await startDaemon(t, options);
  const [operator, alice, bob] = ['operator', 'alice', 'bob'].map((name) => ({ token: tokens[name] }));
  return { daemon, operator, alice, bob };
}

// The configuration as `edit` changes it, in place of the file.
function save(daemon, edit) {
  const config = structuredClone(daemon.config);
  edit(config);
  writeFileSync(daemon.configFile, JSON.stringify(config));
  return config;
}

const logged = (daemon, message) => daemon.log.split('\n').filter(Boolean).map(JSON.parse)
  .filter(({ msg }) => msg === message);
const reloads = (daemon) => logged(daemon, 'configuration reloaded');
const untilRefused = (daemon) => eventually('the refusal in the log', () => (
  logged(daemon, 'the configuration before it stays, whole').length > 0));
const configEvent = (feed) => feed.until('a config event', ({ kind }) => kind === 'config');

test('feed_rule_narrowed_ends_stream', async (t) => {
  const { daemon, alice, bob } = await start(t);
  const [hers, his] = [await daemon.feed(alice), await daemon.feed(bob)];
  const ofTask = await daemon.stream('SendStreamingMessage', {
    message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'forever' }] },
  }, alice);
  await ofTask.next();
  save(daemon, ({ a2a }) => { a2a.principals = a2a.principals.filter(({ id }) => id !== 'alice'); });
  await configEvent(his);
  await hers.drain();
  assert.equal(hers.goodbye?.reason, 'revoked');
  assert.equal(hers.of('config').length, 0, 'nothing that was pushed after it');
  assert.equal(await ofTask.end(), 'cut');
  const refused = await daemon.rpc('ListTasks', {}, alice);
  assertRefused(refused, { http: 401, code: -31401, reason: 'UNAUTHENTICATED' });
  const task = await daemon.sendTask('hello', bob);
  await his.untilDone(task.id);
  his.close();
});

test('a role that is taken away ends the streams that were opened with it, and the next request has the new one', async (t) => {
  const { daemon, operator, alice } = await start(t, { a2a: { introspection: { enabled: true } } });
  save(daemon, ({ a2a }) => { a2a.principals[0].role = 'operator'; });
  await eventually('her promotion', async () => (await daemon.command('config', {}, { ...alice, via: 'rpc' })).status === 200);
  const feed = await daemon.feed(alice);
  save(daemon, () => {});
  await feed.drain();
  assert.equal(feed.goodbye?.reason, 'revoked');
  assertRefused(await daemon.command('config', {}, { ...alice, via: 'rpc' }),
    { http: 403, code: -31403, reason: 'PERMISSION_DENIED', metadata: { op: 'config' } });
  assert.ok((await said(daemon, 'config', {}, operator)).config);
});

test('a call that waits is refused when its caller loses what it stood on', async (t) => {
  const { daemon, alice } = await start(t);
  const waiting = daemon.rpc('SendMessage', {
    message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'forever' }] },
  }, alice);
  await eventually('her task', async () => (await daemon.allTasks({}, alice)).length === 1);
  save(daemon, ({ a2a }) => { a2a.principals = a2a.principals.filter(({ id }) => id !== 'alice'); });
  const { status, headers } = await waiting;
  assert.deepEqual([status, headers['www-authenticate']], [401, 'Bearer realm="agentd", error="invalid_token"']);
});

test('reload_changes_are_listed', async (t) => {
  const { daemon, operator, alice } = await start(t, { workflows: [workflows.broken] });
  const feed = await daemon.feed(alice);
  const card = (await daemon.call('GetExtendedAgentCard', {}, alice)).skills.length;
  save(daemon, (config) => {
    config.agent.name = 'renamed';
    config.workflows = [workflows.pair, workflows.broken];
    config.a2a.cors = { origins: ['https://ui.example'] };
    config.store = { retention: { tasks: { keep_last: 0 } } };
  });
  const paths = ['agent.name', 'a2a.cors.origins', 'store.retention.tasks.keep_last', 'workflows'];
  assert.deepEqual((await configEvent(feed)).data, { paths, source: 'reload' });
  assert.deepEqual((await eventually('a line in the log', () => reloads(daemon)[0])).changed, paths);
  const { name, skills } = await daemon.call('GetExtendedAgentCard', {}, alice);
  assert.deepEqual([name, skills.length], ['renamed', card + 1]);
  const { task } = await daemon.command('workflow.run', { workflow: 'pair' }, alice);
  assert.equal(task.status.state, 'TASK_STATE_COMPLETED');
  const { config } = await said(daemon, 'config', {}, operator);
  assert.deepEqual([config.agent.name, config.a2a.bearer], ['renamed', '***']);
  const allowed = await daemon.rpc('ListTasks', {}, { ...alice, headers: { origin: 'https://ui.example' } });
  assert.equal(allowed.headers['access-control-allow-origin'], 'https://ui.example');
  assert.deepEqual((await daemon.allTasks({}, alice)), [], 'no task that is over is kept any more');

  // A reload that changes nothing says so, and pushes nothing.
  process.kill(daemon.pid, 'SIGHUP');
  await eventually('what the signal came to', () => logged(daemon, 'configuration read again: nothing has changed').length > 0);
  save(daemon, (changed) => Object.assign(changed, { workflows: [workflows.pair] }));
  await configEvent(feed);
  assert.equal(feed.of('config').length, 2);
  feed.close();
});

test('reload_is_all_or_nothing', async (t) => {
  for (const [what, fault, edit] of [
    ['a fault', /agentd\.yaml:1:\d+: steps\.a\.exec: must be a list/, (config) => { config.workflows = [{ name: 'bad', steps: { a: { exec: 7 } } }]; }],
    ['a text that is no configuration', /agentd\.yaml/, null],
    ['what only a start takes up', /a2a\.events\.ring: changed, and only a start takes that up/,
      ({ a2a }) => { a2a.events = { ring: 7 }; }],
  ]) {
    await t.test(what, async (t) => {
      const { daemon, operator, alice } = await start(t);
      const feed = await daemon.feed(alice);
      if (edit === null) {
        writeFileSync(daemon.configFile, 'agent: [');
      } else {
        save(daemon, (config) => {
          config.agent.name = 'renamed';
          config.a2a.principals = [];
          edit(config);
        });
      }
      await untilRefused(daemon);
      assert.match(logged(daemon, 'configuration refused').map((line) => line.fault).join('\n'), fault);
      const { config } = await said(daemon, 'config', {}, operator);
      assert.deepEqual([config.agent.name, config.a2a.principals.length], ['tested', 2]);
      const task = await daemon.sendTask('hello', alice);
      await feed.untilDone(task.id);
      assert.equal(feed.of('config').length, 0);
      feed.close();
      // And what is right again is taken up.
      save(daemon, (right) => { right.agent.name = 'mended'; });
      await eventually('the mended file', () => reloads(daemon).length === 1);
    });
  }
});

test('every way of saving is one reload, and a file is never read by halves', async (t) => {
  const { daemon, alice } = await start(t);
  const feed = await daemon.feed(alice);
  const text = (name) => JSON.stringify({ ...daemon.config, agent: { ...daemon.config.agent, name } });
  const isNamed = async (name) => {
    assert.deepEqual((await configEvent(feed)).data.paths, ['agent.name']);
    assert.equal((await daemon.call('GetExtendedAgentCard', {}, alice)).name, name);
  };
  writeFileSync(daemon.configFile, text('written'));
  await isNamed('written');
  writeFileSync(`${daemon.configFile}.new`, text('renamed'));
  renameSync(`${daemon.configFile}.new`, daemon.configFile);
  await isNamed('renamed');
  // As a deployment swaps a folder: agentd.yaml -> data/agentd.yaml, data -> v1.
  for (const version of ['v1', 'v2']) {
    mkdirSync(join(daemon.folder, version));
    writeFileSync(join(daemon.folder, version, 'agentd.yaml'), text(version));
  }
  symlinkSync('v1', join(daemon.folder, 'data'));
  symlinkSync('data/agentd.yaml', `${daemon.configFile}.link`);
  renameSync(`${daemon.configFile}.link`, daemon.configFile);
  writeFileSync(join(daemon.folder, 'v1', 'rules.yaml'), readFileSync(join(daemon.folder, 'rules.yaml')));
  await isNamed('v1');
  symlinkSync('v2', join(daemon.folder, 'next'));
  renameSync(join(daemon.folder, 'next'), join(daemon.folder, 'data'));
  await isNamed('v2');
  assert.equal(logged(daemon, 'configuration refused').length, 0, daemon.log);
  assert.equal(reloads(daemon).length, 4);
  feed.close();
});

test('the files that a configuration names are part of it', async (t) => {
  const { tokens, options } = users([], {
    a2a: { principals: [{ id: 'alice', role: 'user', match: { bearer_ref: { file: 'alice.token' } } }] },
    workflows: ['flows'],
  });
  const daemon = new Daemon(options);
  t.after(() => daemon.dispose());
  const write = (name, text) => writeFileSync(join(daemon.folder, name), text, { mode: 0o600 });
  mkdirSync(join(daemon.folder, 'flows'));
  write('alice.token', 'first\n');
  await daemon.start();
  const feed = await daemon.feed({ token: tokens.operator });
  const changed = async () => (await configEvent(feed)).data.paths;
  write('flows/pair.yaml', JSON.stringify(workflows.pair));
  assert.deepEqual(await changed(), ['workflows']);
  assert.equal((await daemon.command('workflow.run', { workflow: 'pair' }, { token: 'first' })).task.status.state,
    'TASK_STATE_COMPLETED');
  rmSync(join(daemon.folder, 'flows/pair.yaml'));
  assert.deepEqual(await changed(), ['workflows']);
  write('alice.token', 'second\n');
  assert.deepEqual(await changed(), ['a2a.principals']);
  assert.equal((await daemon.rpc('ListTasks', {}, { token: 'first' })).status, 401);
  assert.equal((await daemon.rpc('ListTasks', {}, { token: 'second' })).status, 200);
  write('rules.yaml', JSON.stringify({ rules: [{ reply: [{ message: { parts: [{ text: 'other rules' }] } }] }] }));
  assert.deepEqual(await changed(), ['agent.model.script']);
  assert.equal((await daemon.send('hello', { token: 'second' })).message.parts[0].text, 'other rules');
  feed.close();
});

test('admin.set holds until the next reload, and off means off at once', async (t) => {
  const { daemon, operator, alice } = await start(t);
  const live = await daemon.feed(operator);
  const hers = await daemon.feed(alice);
  const set = (value) => done(daemon, 'admin.set', { path: 'a2a.introspection.enabled', value }, operator);
  assert.deepEqual(await set(true), { path: 'a2a.introspection.enabled', value: true });
  assert.deepEqual((await configEvent(hers)).data, { paths: ['a2a.introspection.enabled'], source: 'admin.set' });
  const task = await daemon.sendTask('hello', alice);
  await live.untilDone(task.id);
  assert.ok(live.of('audit', ({ action }) => action === 'SendMessage').length > 0);
  await set(false);
  const replayed = await daemon.feed({ ...operator, fromSeq: 0 });
  await replayed.untilSeq(live.seen);
  assert.equal(replayed.hello.introspection, false);
  assert.equal(replayed.of('audit').length, 0, 'what is in the ring still is not replayed');
  await set(true);
  process.kill(daemon.pid, 'SIGHUP');
  await hers.until('the reload', ({ kind, data }) => kind === 'config' && data.source === 'reload');
  assert.equal((await said(daemon, 'config', {}, operator)).config.a2a.introspection.enabled, false);
  for (const [args, field] of [
    [{ path: 'a2a.listen', value: 1 }, 'path'], [{ path: 'a2a.introspection.enabled', value: 'on' }, 'value'],
    [{ path: 'a2a.introspection.enabled' }, 'value'],
  ]) {
    assertRefused(await daemon.command('admin.set', args, { ...operator, via: 'rpc' }), {
      code: -32602, reason: 'INVALID_COMMAND_ARGS',
      fields: [`message.parts[0].data.agentd.${field}`],
    });
  }
  assertRefused(await daemon.command('admin.set', { path: 'a2a.introspection.enabled', value: true }, { ...alice, via: 'rpc' }),
    { http: 403, code: -31403, reason: 'PERMISSION_DENIED', metadata: { op: 'admin.set' } });
  for (const feed of [live, hers, replayed]) feed.close();
});

test('a run goes on with the workflow that it began with', async (t) => {
  const { daemon, alice } = await start(t, { workflows: [workflows.sleeper] });
  const { task } = await daemon.command('workflow.run', { workflow: 'sleeper' }, {
    ...alice, configuration: { returnImmediately: true },
  });
  const feed = await daemon.feed(alice);
  save(daemon, (config) => { config.workflows = []; });
  await configEvent(feed);
  assert.equal((await daemon.getTask(task.id, alice)).status.state, 'TASK_STATE_WORKING');
  assertRefused(await daemon.command('workflow.run', { workflow: 'sleeper' }, { ...alice, via: 'rpc' }),
    { code: -32602, reason: 'INVALID_COMMAND_ARGS', fields: ['message.parts[0].data.agentd.workflow'] });
  await daemon.call('CancelTask', { id: task.id }, alice);
  feed.close();
  rmSync(join(daemon.folder, 'pids'), { force: true });
});

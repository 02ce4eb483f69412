// What an operator does at the command line: look at the daemon, pause it, drain it, and have a shell complete all that.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { startDaemon, users } from './harness.mjs';
import { binary, environment, eventually, isAlive, processOf, run } from './processes.mjs';
import { assertValid, validator } from './schemas.mjs';
import { ask, done, letIn, signIn } from './sign_in.mjs';

// Its first step ends when the file `go` is there.
const gated = {
  name: 'gated',
  steps: { gate: { run: 'until [ -e go ]; do sleep 0.05; done' }, after: { needs: ['gate'], exec: ['echo', 'after'] } },
};

// A daemon with an operator and the user alice, and the command line of either: `operator('ps')`.
async function start(t) {
  const { tokens, options } = users(['alice'], { ...signIn(), workflows: [gated] });
  const daemon = await startDaemon(t, options);
  const as = (token) => (...args) => run(args, {
    env: environment(daemon.folder, { AGENTD_URL: daemon.url, AGENTD_TOKEN: token }),
  });
  return { daemon, operator: as(tokens.operator), alice: as(tokens.alice), token: tokens.operator };
}

async function said(command, ...args) {
  const { code, stdout, stderr } = await command(...args);
  assert.deepEqual([code, stderr], [0, ''], args.join(' '));
  return stdout;
}

const now = { configuration: { returnImmediately: true } };

// A run of `gated` at work on its gate: {task, run, tree}.
async function startGated({ daemon, operator, token }) {
  const { task } = await daemon.command('workflow.run', { workflow: 'gated' }, { token, ...now });
  const tree = await eventually('the gate at work', async () => {
    const found = JSON.parse(await said(operator, 'ps', '--json'));
    return found.runs[0]?.children.length > 0 && found;
  });
  return { task, run: tree.runs[0].id, tree };
}

test('ps is the tree of what works, and status says how much of it there is', async (t) => {
  const world = await start(t);
  const { daemon, operator, alice, token } = world;
  assert.equal(await said(operator, 'ps'), 'nothing is at work\n');
  const turn = await daemon.sendTask('forever', { token, ...now });
  const { task, run: id, tree } = await startGated(world);
  assert.deepEqual(tree.turns.map((one) => one.task), [turn.id]);
  assert.deepEqual(tree.runs.map((one) => [one.workflow, one.task]), [['gated', task.id]]);
  const [child] = tree.runs[0].children;
  assert.equal(child.kind, `step:${id}/gate`);
  assert.ok(isAlive(processOf(child.pid)));

  const text = await said(operator, 'ps');
  assert.match(text, new RegExp(`^turn  ${turn.id}  thinking .*\nrun  ${id}  gated  running  steps 0/2 .*\n└─ step gate  pid ${child.pid} .*\n$`));
  assert.doesNotMatch(text, /\x1b/, 'no colour outside of a terminal');

  const status = await said(operator, 'status');
  for (const line of [/^name +tested$/m, /^state +running$/m, /^store +sqlite$/m, /^turns +1 at work, 0 waiting$/m,
    /^runs +1 live, 1 in all$/m, /^workflows +gated$/m, new RegExp(`^${id} +gated +running +0/2 `, 'm')]) {
    assert.match(status, line);
  }
  assertValid(validator('command', '/$defs/ops/status/result'), JSON.parse(await said(operator, 'status', '--json')));

  // What is somebody else's, and what is the operator's alone, is not there.
  assert.equal(await said(alice, 'ps'), 'nothing is at work\n');
  const hers = await said(alice, 'status');
  assert.match(hers, /^runs +0 live, 0 in all$/m);
  assert.doesNotMatch(hers, /^store/m);
});

test('a run that is paused starts no step until it is resumed, and so does all of it', async (t) => {
  const world = await start(t);
  const { daemon, operator, token } = world;
  const { task, run: id } = await startGated(world);
  const feed = await daemon.feed({ token });
  assert.equal(await said(operator, 'pause', '--run', id), `${id} is paused, until 'agentd resume --run ${id}'\n`);
  writeFileSync(join(daemon.folder, 'go'), '');
  await feed.until('the end of the gate', ({ kind, data }) => kind === 'step' && data.phase === 'done');
  assert.match(await said(operator, 'ps'), new RegExp(`^run  ${id}  gated  paused  steps 1/2 `));
  assert.equal(await said(operator, 'resume', '--run', id), `${id} is resumed\n`);
  await daemon.taskIn(task.id, 'COMPLETED', { token });

  assert.deepEqual(JSON.parse(await said(operator, 'pause', '--reason', 'a full disk', '--json')),
    { ok: true, state: 'paused', reason: 'a full disk' });
  assert.match(await said(operator, 'status'), /^state +paused$/m);
  const waits = await daemon.sendTask('hello', { token, ...now });
  await eventually('a turn that waits', async () => / waiting /.test(await said(operator, 'ps')));
  assert.match(await said(operator, 'status'), /^turns +0 at work, 1 waiting$/m);
  assert.equal(await said(operator, 'resume'), 'resumed\n');
  await daemon.taskIn(waits.id, 'COMPLETED', { token });
  feed.close();
});

test('drain ends the daemon with exit code 0 when its work has ended', async (t) => {
  const world = await start(t);
  const { daemon, operator, token } = world;
  const { task } = await startGated(world);
  assert.match(await said(operator, 'drain', '--reason', 'an update'), /^draining: .*the daemon ends/);
  assert.match(await said(operator, 'status'), /^state +draining$/m);
  const refused = await operator('pause');
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /^agentd: .*shutting down/);
  assert.ok(daemon.program.alive, 'it waits for the run');
  writeFileSync(join(daemon.folder, 'go'), '');
  assert.deepEqual(await daemon.program.exited, { code: 0, signal: null });
  await daemon.start();
  assert.equal((await daemon.getTask(task.id, { token })).status.state, 'TASK_STATE_COMPLETED');
});

test('set changes what config prints', async (t) => {
  const { operator } = await start(t);
  const introspection = async () => JSON.parse(await said(operator, 'config')).a2a.introspection;
  assert.deepEqual(await introspection(), { enabled: false });
  assert.equal(await said(operator, 'set', 'a2a.introspection.enabled', 'true'),
    'a2a.introspection.enabled is true until the next reload\n');
  assert.deepEqual(await introspection(), { enabled: true });
  assert.equal((await said(operator, 'config', '--json')).split('\n').length, 2, 'one line');
  for (const setting of [['a2a.introspection.enabled', 'yes'], ['a2a.lisen', 'true']]) {
    const { code, stdout, stderr } = await operator('set', ...setting);
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, setting[1] === 'yes' ? /value/ : /path must be one of "agent\.approval", "a2a\.introspection\.enabled"/);
  }
});

test('who is no operator is refused with exit code 4 and a line that says so', async (t) => {
  const { alice, daemon } = await start(t);
  for (const args of [['config'], ['pause'], ['resume'], ['drain'], ['set', 'a2a.introspection.enabled', 'true']]) {
    const { code, stdout, stderr } = await alice(...args);
    assert.deepEqual([code, stdout], [4, ''], args[0]);
    assert.match(stderr, /^agentd: http:\/\/\S+ does not allow it: .+\n$/);
  }
  assert.ok(daemon.program.alive);
});

// What bash has completed when the key is pressed at the end of these words, as it splits them.
async function completed({ daemon, token }, words, { url = daemon.url } = {}) {
  const bin = join(daemon.folder, 'bin');
  if (!existsSync(bin)) {
    mkdirSync(bin);
    symlinkSync(resolve(binary), join(bin, 'agentd'));
  }
  const script = `source <(agentd completion bash) && complete -p agentd >&2
    COMP_WORDS=(agentd "$@"); COMP_CWORD=$#; _agentd agentd
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const env = environment(daemon.folder, { AGENTD_URL: url, AGENTD_TOKEN: token, PATH: `${bin}:${process.env.PATH}` });
  const { stdout, stderr } = await promisify(execFile)('bash', ['--norc', '--noprofile', '-c', script, 'bash', ...words],
    { env, cwd: daemon.folder, timeout: 10_000 });
  assert.equal(stderr, 'complete -o default -F _agentd agentd\n');
  return stdout.split('\n').filter(Boolean);
}

test('bash completes commands, options and the ids that the daemon knows', async (t) => {
  const world = await start(t);
  const { daemon, token } = world;
  assert.deepEqual(await completed(world, ['de']), ['demo', 'devices']);
  assert.deepEqual(await completed(world, ['tasks', '--st']), ['--state']);
  assert.deepEqual(await completed(world, ['tasks', '--state', 'inp']), ['input-required']);
  const { task, run: id } = await startGated(world);
  assert.deepEqual(await completed(world, ['tasks', 'show', task.id.slice(0, 6)]), [task.id]);
  assert.deepEqual(await completed(world, ['pause', '--run', 'run-']), [id]);
  assert.deepEqual(await completed(world, ['pause', '--run', '=', '']), [id]);
  assert.deepEqual(await completed(world, ['send', '--workflow', '']), ['gated']);
  const { user_code: code } = await ask(daemon);
  assert.deepEqual(await completed(world, ['devices', 'approve', '']), [code]);
  await done(daemon, 'auth.device.approve', { user_code: code, as: 'ada' }, { token });
  assert.deepEqual(await completed(world, ['devices', 'approve', '']), []);
  const { sid } = await letIn({ daemon, operator: { token } }, 'grace');
  assert.deepEqual(await completed(world, ['sessions', 'revoke', 'ds_']), [sid]);
  assert.deepEqual(await completed(world, ['sessions', 'revoke', '--name', 'gr']), ['grace']);
});

test('an id with odd characters is completed to one word that is this id, and runs nothing', async (t) => {
  const world = await start(t);
  const { daemon, token } = world;
  const odd = 'a b\'c"d $(touch ran) `touch ran` ;&|<>*?[x]{y,z}~#!\\=:é';
  for (const contextId of [odd, '--url=http://127.0.0.1:1', 'esc\x1b[2J', 'two\nlines']) {
    await daemon.sendTask('hello', { token, message: { contextId } });
  }
  const [word, ...others] = await completed(world, ['send', '--context', '']);
  assert.deepEqual(others, [], 'what is no word to be shown is not offered');
  const { stdout } = await promisify(execFile)('bash', ['--norc', '--noprofile', '-c', `printf '%s\\0' ${word}`],
    { cwd: daemon.folder, env: environment(daemon.folder) });
  assert.deepEqual(stdout.split('\0'), [odd, '']);
  assert.deepEqual(await completed(world, ['send', '--context', 'a\\ b']), [word], 'typed on');
  assert.ok(!existsSync(join(daemon.folder, 'ran')));
});

test('without a daemon, or with one that refuses, completion is silent', async (t) => {
  const world = await start(t);
  for (const words of [['tasks', 'show', ''], ['pause', '--run', ''], ['devices', 'approve', '']]) {
    assert.deepEqual(await completed({ ...world, token: 'wrong' }, words), []);
    assert.deepEqual(await completed(world, words, { url: 'http://127.0.0.1:1' }), []);
  }
  assert.deepEqual(await completed(world, ['paus'], { url: 'http://127.0.0.1:1' }), ['pause']);
});

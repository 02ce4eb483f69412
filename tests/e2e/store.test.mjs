// What becomes of a daemon whose disk is full, whose store somebody else has locked, or whose store is no good: it says so, what it has
// acknowledged is there, and it goes on when it can.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { startDaemon, userMessage } from './harness.mjs';
import { Program, eventually } from './processes.mjs';

const file = (daemon) => join(daemon.stateFolder, 'agentd.db');

// A limit on the size of files is what a full disk is to a program.
const limitFiles = (daemon, bytes) => execFileSync('prlimit', [`--fsize=${bytes}:`, '--pid', String(daemon.pid)]);

const storeOf = async (daemon) => {
  const { message } = await daemon.command('status');
  return message.parts[0].data.store;
};

// Sends until the store is refused: the tasks that were acknowledged, and the refusal.
async function sendUntilRefused(daemon) {
  const acknowledged = [];
  for (let i = 0; i < 1_000; ++i) {
    const { result, error, status } = await daemon.rpc('SendMessage', { message: userMessage(`hello ${i} ${'x'.repeat(4_000)}`) });
    if (error) return { acknowledged, refusal: { ...error, status } };
    acknowledged.push(result.task.id);
  }
  return assert.fail('it was never refused');
}

async function assertAllThere(daemon, ids) {
  const there = new Set((await daemon.allTasks()).map(({ id }) => id));
  for (const id of ids) assert.ok(there.has(id), `task ${id} was acknowledged`);
}

test('store_full_disk', async (t) => {
  const daemon = await startDaemon(t);
  const feed = await daemon.feed();
  limitFiles(daemon, 400 << 10);
  const { acknowledged, refusal } = await sendUntilRefused(daemon);
  assert.ok(acknowledged.length > 0);
  assert.match(refusal.message, /^the store cannot be written now/);
  assert.match(daemon.log, /"the store refuses writes; trying again until it takes them".*agentd\.db/);
  await feed.until('a store that is degraded', ({ kind, data }) => kind === 'status' && data.store.degraded);
  assert.equal((await storeOf(daemon)).degraded, true);
  await assertAllThere(daemon, acknowledged);
  limitFiles(daemon, 'unlimited');
  await feed.until('a store that is well again', ({ kind, data }) => kind === 'status' && !data.store.degraded);
  feed.close();
  acknowledged.push((await daemon.sendTask('hello again')).id);
  await daemon.restart({ kill: true });
  await assertAllThere(daemon, acknowledged);
});

test('store_locked: by another program for a while, or by another daemon', async (t) => {
  const daemon = await startDaemon(t);
  const acknowledged = [(await daemon.sendTask('hello')).id];
  // Holds the lock until its input ends.
  const other = spawn('python3', ['-c', `
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()`, file(daemon)], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => other.kill('SIGKILL'));
  await once(other.stdout, 'data');
  const { acknowledged: none, refusal } = await sendUntilRefused(daemon);
  assert.deepEqual(none, []);
  assert.match(refusal.message, /^the store cannot be written now/);
  assert.match(daemon.log, /the store refuses writes.*locked/);
  assert.equal((await storeOf(daemon)).degraded, true);
  other.stdin.end();
  await eventually('a store that is well again', async () => !(await storeOf(daemon)).degraded);
  acknowledged.push((await daemon.sendTask('hello again')).id);

  const second = new Program(['serve', '-c', daemon.configFile], { env: daemon.env, cwd: daemon.folder });
  const { code } = await second.exited;
  assert.equal(code, 1);
  assert.match(second.stderr, new RegExp(`agentd.*${daemon.pid}`));
  await daemon.restart({ kill: true });
  await assertAllThere(daemon, acknowledged);
});

test('store_corrupt: a store that is no good is left as it is, and the daemon says where it is and what to do', async (t) => {
  const daemon = await startDaemon(t);
  await daemon.sendTask('hello');
  await daemon.stop();
  const whole = readFileSync(file(daemon));
  for (const [name, begin] of [['its head', 0], ['its tables', 4096]]) {
    const broken = Buffer.from(whole);
    broken.fill(0x2a, begin, begin + 200);
    writeFileSync(file(daemon), broken);
    const program = new Program(['serve', '-c', daemon.configFile], { env: daemon.env, cwd: daemon.folder });
    const { code } = await program.exited;
    assert.equal(code, 1, `${name}: ${program.stderr}`);
    assert.ok(program.stderr.startsWith(`agentd: ${file(daemon)}: `), `${name}: ${program.stderr}`);
    assert.match(program.stderr, /the file is corrupt: restore it from a backup, or move it away to start empty\n$/, name);
    assert.ok(readFileSync(file(daemon)).subarray(0, 8192).equals(broken.subarray(0, 8192)), `${name}: it was repaired`);
  }
  writeFileSync(file(daemon), whole);
  await daemon.start();
  assert.equal((await daemon.allTasks()).length, 1);
});

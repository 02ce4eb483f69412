// Stops, kills and what is there afterwards (runtime.md, the rules).
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { COMMAND } from './contract.mjs';
import { commandMessage, recordedProcesses, startDaemon, twoProcesses, userMessage } from './harness.mjs';
import { allGone, descendants, seeded } from './processes.mjs';
import { done, said } from './sign_in.mjs';
import { workflows } from './workflows.mjs';

const later = { configuration: { returnImmediately: true } };
const config = { workflows: [workflows.chain, workflows.sleeper] };

// Clients that go on sending through kills. A job is acknowledged, or sent again under its key after the restart.
class Workload {
  constructor(daemon) {
    this.daemon = daemon;
    this.acknowledged = [];
    this.unsure = [];
    this.made = 0;
  }

  #make() {
    const number = this.made++;
    const text = `hello job ${number}`;
    const message = number % 4 === 0 ? commandMessage('workflow.run', { workflow: 'chain' }) : userMessage(text);
    return { message, run: number % 4 === 0, key: randomUUID() };
  }

  async #send(job) {
    const { task } = await this.daemon.call('SendMessage', { message: job.message, ...later }, {
      extensions: [COMMAND], headers: { 'idempotency-key': job.key },
    });
    this.acknowledged.push({ ...job, task: task.id });
  }

  // One client, until its connection breaks.
  async client() {
    for (;;) {
      const job = this.unsure.shift() ?? this.#make();
      try {
        await this.#send(job);
      } catch (error) {
        if (error.code === 'ERR_ASSERTION') throw error;
        this.unsure.push(job);
        return;
      }
    }
  }

  async settle() {
    while (this.unsure.length > 0) await this.#send(this.unsure.shift());
  }
}

test('kill9_anywhere', { timeout: 300_000 }, async (t) => {
  const daemon = await startDaemon(t, { config });
  const kills = Number(process.env.AGENTD_E2E_KILLS ?? 20);
  const random = seeded();
  const work = new Workload(daemon);
  for (let round = 0; round < kills; ++round) {
    const clients = Array.from({ length: 3 }, () => work.client());
    await delay(random() * 250);  // the moment
    const children = descendants(daemon.pid);
    await daemon.kill9();
    await Promise.all(clients);
    await allGone([...children, ...recordedProcesses(daemon)]);
    await daemon.start();
    for (const { task } of work.acknowledged.slice(-10)) await daemon.getTask(task);
  }
  await work.settle();

  const runs = work.acknowledged.filter(({ run }) => run);
  for (const { task, run } of work.acknowledged) {
    await daemon.taskIn(task, run ? ['COMPLETED'] : ['COMPLETED', 'FAILED'], { ms: 30_000 });
  }
  const tasks = await daemon.allTasks({ historyLength: 100 });
  const byId = new Map(tasks.map((task) => [task.id, task]));
  assert.equal(byId.size, tasks.length, 'no task is listed twice');
  assert.equal(tasks.length, work.made, 'every job has one task, however often it was sent');
  for (const { task, message, run } of work.acknowledged) {
    const found = byId.get(task);
    assert.ok(found, `task ${task} was acknowledged`);
    const copies = found.history.filter(({ messageId }) => messageId === message.messageId);
    if (!run) assert.equal(copies.length, 1, `its message is there once: ${JSON.stringify(found.history)}`);
  }
  const trace = new Map();
  for (const line of readFileSync(join(daemon.folder, 'trace'), 'utf8').trim().split('\n')) {
    const [run, step] = line.split(' ');
    trace.set(run, [...(trace.get(run) ?? []), step]);
  }
  assert.equal(trace.size, runs.length);
  for (const [run, steps] of trace) {
    // A step begins only when those before it are completed: none of them may come again.
    assert.deepEqual(steps, [...steps].sort(), `completed steps of ${run} are not redone`);
    assert.deepEqual([...new Set(steps)], ['s1', 's2', 's3', 's4']);
  }
  await daemon.stop();
});

test('kill -9 leaves no descendant, and the run goes on with its next attempt', async (t) => {
  const daemon = await startDaemon(t, { config });
  const { task } = await daemon.command('workflow.run', { workflow: 'sleeper' }, later);
  const children = await twoProcesses(daemon);
  await daemon.kill9();
  await allGone(children);
  await daemon.start();
  const feed = await daemon.feed({ fromSeq: 0 });
  await feed.until('the second attempt',
    ({ kind, data }) => kind === 'step' && data.phase === 'start' && data.attempt === 2);
  feed.close();
  await daemon.call('CancelTask', { id: task.id });
  await daemon.taskIn(task.id, 'CANCELED', { ms: 2_000 });
});

test('gate_survives_kill9', async (t) => {
  const daemon = await startDaemon(t);
  const asked = await daemon.sendTask('ask');
  await daemon.restart({ kill: true });
  const waiting = await daemon.getTask(asked.id);
  assert.deepEqual(waiting, asked, 'the question stands as it was');
  const done = await daemon.sendTask('blue', { message: { taskId: asked.id } });
  assert.equal(done.status.state, 'TASK_STATE_COMPLETED');
});

test('a stop says that it drains, ends streams after a whole frame, and exits with 0', async (t) => {
  const daemon = await startDaemon(t);
  const feed = await daemon.feed();
  const { id } = await daemon.sendTask('hello');
  await feed.untilDone(id);
  const stopping = daemon.stop();
  const { data } = await feed.until('draining', ({ kind }) => kind === 'lifecycle');
  assert.equal(data.draining, true);
  assert.ok(typeof data.reason === 'string' && data.reason.length > 0);
  assert.equal(await feed.drain(), 'cut', 'the final chunk is for goodbye only');
  assert.equal(feed.stream.partial, false, 'no frame is cut in two');
  await stopping;
});

test('a stop in the middle of work ends the children and keeps the task', async (t) => {
  const daemon = await startDaemon(t, { config });
  const { task } = await daemon.command('workflow.run', { workflow: 'sleeper' }, later);
  const children = await twoProcesses(daemon);
  await daemon.restart();
  await allGone(children);
  assert.equal((await daemon.getTask(task.id)).id, task.id);
});

test('tasks are what they were after a restart', async (t) => {
  const daemon = await startDaemon(t, { config });
  const before = [await daemon.sendTask('pieces'), (await daemon.command('workflow.run', { workflow: 'chain' })).task];
  await daemon.restart();
  for (const task of before) assert.deepEqual(await daemon.getTask(task.id), task);
});

test('an instance that is paused is so after a kill, says so, and goes on once it is resumed', async (t) => {
  const daemon = await startDaemon(t, { config });
  await done(daemon, 'admin.pause', { reason: 'lunch' });
  const { task: run } = await daemon.command('workflow.run', { workflow: 'chain' }, later);
  const turn = await daemon.sendTask('hello', later);
  await daemon.restart({ kill: true });
  const still = daemon.log.split('\n').find((line) => line.includes('still paused'));
  assert.equal(JSON.parse(still).reason, 'lunch');
  assert.equal((await said(daemon, 'status')).paused, true);
  const feed = await daemon.feed({ fromSeq: 0 });
  // What a later command has pushed comes after all that the start began by itself.
  await done(daemon, 'workflow.signal', { name: 'here' });
  await feed.until('the command', ({ kind, data }) => kind === 'task' && ![run.id, turn.id].includes(data.task.id));
  assert.equal(feed.of('step').length, 0);
  for (const { id } of [run, turn]) assert.notEqual((await daemon.getTask(id)).status.state, 'TASK_STATE_COMPLETED');
  await done(daemon, 'admin.resume');
  for (const { id } of [run, turn]) await daemon.taskIn(id, 'COMPLETED');
  feed.close();
  await daemon.restart({ kill: true });
  assert.equal((await said(daemon, 'status')).paused, false);
});

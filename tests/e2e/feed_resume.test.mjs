// Nothing lost, nothing repeated, never silently (events.md section 5).
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { startDaemon } from './harness.mjs';
import { apply, mirror } from './feed_reader.mjs';
import { assertBelow, eventually, residentBytes, seeded } from './processes.mjs';
import { stateOf, statusOf } from './snapshot.mjs';
import { workflows } from './workflows.mjs';

const ring = (events) => ({ config: { a2a: { events: { ring: events } } } });
const MiB = 1024 * 1024;
const keys = (events) => events.map(({ seq, kind }) => `${seq} ${kind}`);

// Runs `body` while eight clients send messages, one after the other each.
async function underLoad(daemon, body, text = 'hello') {
  let over = false;
  const clients = Array.from({ length: 8 }, async () => {
    while (!over) await daemon.send(text);
  });
  try {
    await body();
  } finally {
    over = true;
    await Promise.all(clients);
  }
}

// Makes at least `count` events, one message at a time, and reads none of them: a small ring outruns a reader.
async function makeEvents(daemon, count) {
  const from = await newest(daemon);
  while (await newest(daemon) < from + count) await daemon.send('hello');
}

async function newest(daemon) {
  const feed = await daemon.feed();
  feed.close();
  return feed.hello.seq;
}

// Reads the whole ring of a daemon in which nothing happens: {oldest, newest, events}.
async function window(daemon) {
  const feed = await daemon.feed({ fromSeq: 0 });
  await feed.untilSeq(feed.hello.seq);
  feed.close();
  return { oldest: feed.events[0].seq, newest: feed.seen, events: feed.events, hello: feed.hello };
}

// Resyncs as `ask(window)` expects, from one and the same window: tried again when something happened meanwhile.
async function resyncs(daemon, cursors) {
  return eventually('a window in which nothing happens', async () => {
    const around = await window(daemon);
    const asked = cursors(around);
    const hellos = [];
    for (const fromSeq of asked) {
      const feed = await daemon.feed({ fromSeq });
      feed.close();
      hellos.push(feed.hello);
    }
    return hellos.every(({ seq }) => seq === around.newest) && hellos.map(({ resync }) => resync);
  });
}

test('feed_cut_resume_exactly_once', { timeout: 60_000 }, async (t) => {
  const daemon = await startDaemon(t, ring(200_000));
  const random = seeded();
  const reference = await daemon.feed({ fromSeq: 0 });
  const cuts = Number(process.env.AGENTD_E2E_CUTS ?? 60);
  const events = [];
  let cursor = 0;
  await underLoad(daemon, async () => {
    for (let made = 0; made < cuts; ++made) {
      // Any byte may be the last one: inside a frame, between two, in the middle of a character.
      const cutAfter = 300 + Math.floor(random() * 60_000);
      const feed = await daemon.feed({ fromSeq: cursor, reader: { cutAfter } });
      assert.equal(feed.hello.resync, false);
      assert.equal(await feed.drain(30_000), 'cut');
      events.push(...feed.events);
      cursor = feed.cursor;
    }
  });
  const last = await daemon.feed({ fromSeq: cursor });
  await last.untilSeq(last.hello.seq);
  events.push(...last.events);
  last.close();
  await reference.untilSeq(last.seen, 30_000);
  reference.close();
  assert.ok(events.length > 1_000, `${events.length} events`);
  assert.deepEqual(keys(events), keys(reference.events.filter(({ seq }) => seq <= last.seen)));
});

test('feed_status_then_subscribe', { timeout: 120_000 }, async (t) => {
  const keep = { keep_last: 20 };  // so that objects depart too
  const daemon = await startDaemon(t, { config: {
    workflows: [workflows.pair], store: { retention: { tasks: keep, runs: keep, conversations: keep } },
  } });
  await underLoad(daemon, async () => {
    for (let round = 0; round < 100; ++round) {
      if (round % 10 === 0) await daemon.command('workflow.run', { workflow: 'pair' });
      const before = await statusOf(daemon);
      const feed = await daemon.feed({ fromSeq: before.seq });
      const after = await statusOf(daemon);
      await feed.untilSeq(after.seq);
      feed.close();
      assert.equal(feed.hello.resync, false);
      const events = feed.events.filter(({ seq }) => seq <= after.seq);
      assert.deepEqual(events.map(({ seq }) => seq), events.map((_, i) => before.seq + 1 + i), 'each number once');
      const state = stateOf(before);
      for (const event of events) if (!event.kind.startsWith('task') && event.kind !== 'status') apply(state, event);
      assert.deepEqual(state, stateOf(after), `round ${round}: what was applied is what the daemon says`);
    }
  });
});

test('what happens while a client is away is replayed once, in order', async (t) => {
  const daemon = await startDaemon(t);
  const reference = await daemon.feed();
  const first = await daemon.feed();
  const before = await daemon.sendTask('hello');
  await first.untilDone(before.id);
  first.close();
  const { id } = await daemon.sendTask('hello');
  const resumed = await daemon.feed({ fromSeq: first.cursor });
  const end = await resumed.untilDone(id);
  await reference.untilSeq(end.seq);
  assert.deepEqual(resumed.events, reference.events.filter(({ seq }) => seq > first.cursor && seq <= end.seq));
  resumed.close();
  reference.close();
});

// How the life that the cursor is of begins (nothing: as it is started) and ends.
const restarts = {
  'a stop': { end: (daemon) => daemon.stop() },
  'kill -9': { end: (daemon) => daemon.kill9() },
  'a memory store': { config: { store: { kind: 'memory' } }, end: (daemon) => daemon.stop() },
  'a wiped store': {
    end: async (daemon) => {
      await daemon.stop();
      rmSync(daemon.stateFolder, { recursive: true, force: true });
    },
  },
  'a restored backup': {
    begin: async (daemon) => {
      await makeEvents(daemon, 5);
      await daemon.stop();
      cpSync(daemon.stateFolder, `${daemon.stateFolder}.backup`, { recursive: true });
      await daemon.start();
    },
    end: async (daemon) => {
      await daemon.stop();
      rmSync(daemon.stateFolder, { recursive: true, force: true });
      renameSync(`${daemon.stateFolder}.backup`, daemon.stateFolder);
    },
  },
};

test('feed_restart_stale_cursor', async (t) => {
  for (const [how, { config = {}, begin = () => {}, end }] of Object.entries(restarts)) {
    await t.test(how, async (t2) => {
      const daemon = await startDaemon(t2, { config });
      await begin(daemon);
      await makeEvents(daemon, 20);
      const old = await window(daemon);
      await end(daemon);
      await daemon.start();
      for (const more of [1, old.events.length + 10]) {
        await makeEvents(daemon, more);
        for (const fromSeq of [old.newest, old.events[5].seq]) {
          const feed = await daemon.feed({ fromSeq });
          assert.equal(feed.hello.resync, true);
          await feed.untilSeq(feed.hello.seq);
          assert.ok(feed.events[0].seq > old.newest, 'no number is used twice');
          feed.close();
        }
      }
    });
  }
});

test('feed_restart_equals_fresh', async (t) => {
  const daemon = await startDaemon(t);
  const client = await daemon.feed();
  await client.untilDone((await daemon.sendTask('hello')).id);
  await daemon.sendTask('ask');
  client.close();
  await daemon.restart();
  await makeEvents(daemon, 10);
  await eventually('two readers at one moment', async () => {
    const resumed = await daemon.feed({ fromSeq: client.cursor });
    const fresh = await daemon.feed();
    assert.equal(resumed.hello.resync, true);
    for (const feed of [resumed, fresh]) {
      await feed.untilSeq(feed.hello.seq);
      feed.close();
    }
    if (resumed.hello.seq !== fresh.hello.seq) return false;
    assert.deepEqual(mirror(resumed.events), mirror(fresh.events));
    return true;
  });
});

test('feed_lagging_reader_told', { timeout: 60_000 }, async (t) => {
  const daemon = await startDaemon(t, { config: {
    a2a: { events: { ring: 512, ring_bytes: '2MiB' } }, store: { retention: { tasks: { keep_last: 20 } } },
  } });
  const text = `hello ${'x'.repeat(4096)}`;
  const steady = await daemon.feed();
  await underLoad(daemon, async () => {
    while (steady.events.length < 600) await steady.next();
  }, text);
  const before = { bytes: steady.stream.bytes, resident: residentBytes(daemon.pid) };
  const lagging = await daemon.feed();
  lagging.stream.pause();
  await underLoad(daemon, async () => {
    while (steady.events.length < 5_600) await steady.next();
  }, text);
  const missed = steady.stream.bytes - before.bytes;
  const grown = residentBytes(daemon.pid) - before.resident;
  assert.ok(missed > 8 * MiB, `${missed} bytes missed`);
  assertBelow(grown, 5 * MiB, 'bytes more: what a full ring and busy threads take, and none of what was missed');
  lagging.stream.resume();
  assert.equal(await lagging.drain(), 'cut', 'ended without the final chunk');
  assert.equal(lagging.goodbye, null);
  const seen = new Set(keys(steady.events));
  for (const key of keys(lagging.events)) assert.ok(seen.has(key));
  assert.ok(lagging.events.length < steady.events.length);
  const resumed = await daemon.feed({ fromSeq: lagging.cursor });
  assert.equal(resumed.hello.resync, true);
  await steady.untilSeq(resumed.hello.seq);
  for (const feed of [steady, resumed]) feed.close();
});

test('feed_zero_cursor', async (t) => {
  const daemon = await startDaemon(t, ring(16));
  await makeEvents(daemon, 40);
  const { hello, events } = await window(daemon);
  assert.deepEqual([hello.resume, hello.resync], [0, false]);
  assert.equal(events.length, 16, 'the ring holds what it was told to hold');
});

test('feed_boundary_cursor', async (t) => {
  const daemon = await startDaemon(t, ring(16));
  await makeEvents(daemon, 40);
  const answers = await resyncs(daemon,
    ({ oldest, newest: head }) => [oldest - 2, oldest - 1, oldest, head, head + 1, 1]);
  assert.deepEqual(answers, [true, false, false, false, true, true]);
});

test('a cursor in the window replays exactly what is past it, one out of it the whole ring', async (t) => {
  const daemon = await startDaemon(t, ring(16));
  await makeEvents(daemon, 40);
  await eventually('one window for all', async () => {
    const around = await window(daemon);
    const replay = async (fromSeq) => {
      const feed = await daemon.feed({ fromSeq });
      await feed.untilSeq(feed.hello.seq);
      feed.close();
      return feed.hello.seq === around.newest ? keys(feed.events) : null;
    };
    const all = keys(around.events);
    const got = [await replay(around.oldest - 2), await replay(around.events[9].seq), await replay(around.newest + 1)];
    if (got.includes(null)) return false;
    assert.deepEqual(got, [all, all.slice(10), all]);
    return true;
  });
});

test('the ring is bounded in bytes too, and that is eviction as well', async (t) => {
  const daemon = await startDaemon(t, { config: { a2a: { events: { ring: 100_000, ring_bytes: '1MiB' } } } });
  const first = await daemon.feed();
  await first.untilDone((await daemon.sendTask('hello')).id);
  first.close();
  for (let i = 0; i < 40; ++i) await daemon.send(`hello ${'x'.repeat(24 * 1024)}`);
  const resumed = await daemon.feed({ fromSeq: first.cursor });
  assert.equal(resumed.hello.resync, true);
  await resumed.untilSeq(resumed.hello.seq);
  assert.ok(JSON.stringify(resumed.events).length < 1_200_000);
  resumed.close();
});

test('feed_boot_does_not_flood', async (t) => {
  const [runs, ring] = [10_000, 256];
  const daemon = await startDaemon(t, { config: {
    a2a: { events: { ring } },
    workflows: [workflows.pair],
    store: { retention: { runs: { keep_last: 2 * runs }, tasks: { keep_last: 2 * runs } } },
  } });
  await daemon.command('workflow.run', { workflow: 'pair' });
  await eventually('the end of the run', async () => (await statusOf(daemon)).runs[0]?.status === 'completed');
  await daemon.stop();
  // Copies of that run and its task, and of a turn that asked: made here, because to have them made takes minutes.
  execFileSync('python3', ['-c', `
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
for table in ("run", "task", "step"):
    key = "run" if table == "step" else "id"
    for row in db.execute(f"SELECT * FROM {table}").fetchall():
        for n in range(int(sys.argv[2])):
            copy = [value.replace(row[0], f"{row[0][:-5]}{n:05}") if isinstance(value, str) else value for value in row]
            db.execute(f"INSERT OR REPLACE INTO {table} VALUES ({','.join('?' * len(row))})", copy)
db.commit()`, join(daemon.stateFolder, 'agentd.db'), String(runs)]);
  await daemon.start();
  const feed = await daemon.feed({ fromSeq: 0 });
  await feed.untilDone((await daemon.sendTask('hello')).id);
  feed.close();
  assert.ok(feed.events.length < ring / 10, `${feed.events.length} events since the start`);
  assert.ok((await statusOf(daemon)).runs.length > ring, 'the runs are there');
});

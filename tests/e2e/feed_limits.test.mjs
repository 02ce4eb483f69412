// What peers that misbehave or vanish cost the daemon: nothing that lasts.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import net from 'node:net';
import { test } from 'node:test';

import { EVENTS, SUBSCRIBE } from './contract.mjs';
import { startDaemon } from './harness.mjs';
import { assertBelow, eventually, residentBytes, within } from './processes.mjs';

const held = ({ pid }) => ({
  descriptors: readdirSync(`/proc/${pid}/fd`).length, threads: readdirSync(`/proc/${pid}/task`).length,
});

// Waits until the daemon holds what it held, and `more` connections.
const holds = (daemon, baseline, more = 0) => eventually(
  `${baseline.descriptors + more} descriptors and ${baseline.threads} threads`, () => {
    const { descriptors, threads } = held(daemon);
    return descriptors === baseline.descriptors + more && threads === baseline.threads;
  });

// A connection that is written to by hand: `text` is what came, `gone` resolves at its end.
function connect(daemon, { allowHalfOpen = false } = {}) {
  const { hostname, port } = new URL(daemon.url);
  const socket = net.connect({ host: hostname, port, allowHalfOpen });
  socket.text = '';
  socket.setEncoding('latin1').on('data', (text) => { socket.text += text; }).on('error', () => {});
  socket.gone = new Promise((resolve) => { socket.once('close', resolve); });
  return socket;
}

const subscription = (daemon) => {
  const body = daemon.envelope(SUBSCRIBE, {});
  const headers = { host: 'localhost', ...daemon.headers({ extensions: [EVENTS] }), 'content-length': body.length };
  return `POST / HTTP/1.1\r\n${Object.entries(headers).map(([k, v]) => `${k}: ${v}\r\n`).join('')}\r\n${body}`;
};

// What the daemon says when it stops, of the connections that it lost.
async function losses(daemon) {
  await daemon.stop();
  return JSON.parse(daemon.log.split('\n').find((line) => line.includes('"stopped"')));
}

// The ways of opening a stream and leaving it.
const visits = [
  async (daemon) => (await daemon.feed()).close(),
  async (daemon) => (await daemon.feed()).stream.incoming.socket.resetAndDestroy(),
  async (daemon) => (await daemon.curl('?follow=false')).end(),
  async (daemon) => {  // asked for, and gone before the answer
    const socket = connect(daemon);
    await new Promise((resolve) => { socket.write(subscription(daemon), resolve); });
    socket.resetAndDestroy();
    await socket.gone;
  },
  async (daemon) => {  // gone in the middle of the request
    const socket = connect(daemon);
    await new Promise((resolve) => { socket.write(subscription(daemon).slice(0, 90), resolve); });
    socket.destroy();
    await socket.gone;
  },
];

async function openAndClose(daemon, count) {
  let made = 0;
  await Promise.all(Array.from({ length: 8 }, async () => {
    while (made < count) await visits[made++ % visits.length](daemon);
  }));
}

test('feed_open_close_leaks_nothing', { timeout: 60_000 }, async (t) => {
  const most = 100;
  const daemon = await startDaemon(t, { config: { a2a: { events: { max_streams: most } } } });
  const baseline = held(daemon);
  await daemon.send('hello');
  daemon.agent.destroy();
  await openAndClose(daemon, 200);
  await holds(daemon, baseline);
  const before = residentBytes(daemon.pid);
  await openAndClose(daemon, 1_000);
  await holds(daemon, baseline);
  assertBelow(residentBytes(daemon.pid) - before, 1024 * 1024, 'bytes more: a KiB for each');
  const feeds = [];
  while (feeds.length < most) feeds.push(await daemon.feed());
  await assert.rejects(daemon.feed(), /429/, 'what was closed does not count, what is open does');
  for (const feed of feeds) feed.close();
});

test('feed_slowloris', { timeout: 40_000 }, async (t) => {
  const daemon = await startDaemon(t);
  const baseline = held(daemon);
  const slow = Array.from({ length: 20 }, () => connect(daemon));
  const silent = Array.from({ length: 20 }, () => connect(daemon));
  for (const socket of slow) socket.write('GET /events HTTP/1.1\r\nHost: localhost\r\n');
  const trickle = setInterval(() => slow.forEach((socket) => socket.writable && socket.write('X-More: 1\r\n')), 200);
  t.after(() => clearInterval(trickle));
  await holds(daemon, baseline, 40);
  assert.equal(await (await daemon.curl('?follow=false')).end(), 'clean', 'others are served meanwhile');
  const all = [...slow, ...silent];
  await within(20_000, 'the end of headers that do not end', Promise.all(all.map((socket) => socket.gone)));
  for (const { text } of slow) assert.match(text, /^HTTP\/1\.1 408 /);
  for (const { text } of silent) assert.equal(text, '', 'who asked nothing is told nothing');
  await holds(daemon, baseline);
  assert.equal((await losses(daemon)).head_timeouts, all.length);
});

test('feed_half_open', { timeout: 40_000 }, async (t) => {
  const daemon = await startDaemon(t, { config: { a2a: { events: { ring: 100_000, write_timeout: '1s' } } } });
  const baseline = held(daemon);

  await t.test('a peer that ends its side is gone', async () => {
    const socket = connect(daemon, { allowHalfOpen: true });
    socket.write(subscription(daemon));
    await eventually('a hello', () => socket.text.includes('"hello"'));
    socket.end();
    await within(10_000, 'the end of the stream', socket.gone);
    await holds(daemon, baseline);
  });

  await t.test('a peer that takes no byte is closed, and resumes where it was; one that takes them stays', async () => {
    const steady = await daemon.feed();
    const stuck = await daemon.feed();
    stuck.stream.pause();
    await holds(daemon, baseline, 2);
    const tasks = [];
    while (tasks.length < 15) tasks.push(await daemon.sendTask(`hello ${'x'.repeat(24 * 1024)}`));
    await steady.untilDone(tasks.at(-1).id);
    daemon.agent.destroy();
    await holds(daemon, baseline, 1);
    stuck.stream.resume();
    assert.equal(await stuck.drain(), 'cut');
    assert.ok(stuck.cursor < steady.cursor);
    const resumed = await daemon.feed({ fromSeq: stuck.cursor });
    assert.equal(resumed.hello.resync, false, 'it was not the ring that moved on');
    for (const feed of [steady, resumed]) feed.close();
    await holds(daemon, baseline);
  });

  assert.equal((await losses(daemon)).write_timeouts, 1, 'who leaves is not counted with them');
});

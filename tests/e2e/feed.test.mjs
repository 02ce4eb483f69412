// The events feed: activation, params, frames, endings (events.md sections 2 to 4, 8, 9, 12).
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { parseSseStream } from '@a2a-js/sdk';

import { ANNOTATIONS, COMMAND, EVENTS, SUBSCRIBE } from './contract.mjs';
import { startDaemon, twoUsers, userMessage } from './harness.mjs';
import { eventually } from './processes.mjs';
import { assertRefused } from './refusals.mjs';
import { assertFrame } from './schemas.mjs';

const daemon = await startDaemon();
const subscribe = (params, options) => daemon.post(
  `{"jsonrpc":"2.0","id":7,"method":"${SUBSCRIBE}"${params === undefined ? '' : `,"params":${params}`}}`,
  { extensions: [EVENTS], ...options });
const notActivated = {
  code: -32601, reason: 'EXTENSION_NOT_ACTIVATED', domain: 'agentd.dev',
  metadata: { extension: EVENTS, method: SUBSCRIBE },
};

test('feed_bad_cursor', async () => {
  const rows = [
    ...['-1', '1.5', '2.0', '"3"', 'null', 'true', '[]', '{}', '18446744073709551616']
      .map((value) => [`{"fromSeq":${value}}`, ['params.fromSeq']]),
    ['{"fromseq":1}', ['params.fromseq']],
    ['{"fromSeq":1,"kinds":["task"]}', ['params.kinds']],
    ['{"fromSeq":-1,"a":1,"b":null}', ['params.fromSeq', 'params.a', 'params.b']],
    ['[]', ['params']], ['[1]', ['params']], ['7', ['params']], ['"x"', ['params']],
  ];
  for (const [params, fields] of rows) {
    const answer = await subscribe(params);
    await assert.doesNotReject(async () => assertRefused(answer, { code: -32602, id: 7, fields }), params);
    assert.equal(answer.body.error.data.length, 1, 'one BadRequest and nothing else');
  }
  for (const params of ['{"fromSeq":-1}', '{"fromSeq":18446744073709551616}', '[]']) {
    assert.equal((await subscribe(params)).headers['a2a-extensions'], EVENTS, `${params}: activated, so echoed`);
  }
});

test('the largest cursor there is counts as ahead of the feed', async () => {
  const body = `{"jsonrpc":"2.0","id":1,"method":"${SUBSCRIBE}","params":{"fromSeq":18446744073709551615}}`;
  const ahead = await daemon.stream(SUBSCRIBE, undefined, { extensions: [EVENTS], body });
  const frame = await ahead.next();
  ahead.destroy();
  assert.match(frame.data, /"resume":18446744073709551615[,}]/);
  assert.equal(JSON.parse(frame.data).result.hello.resync, true);
});

test('an instance that does not declare the extension says so, whatever the header says', async (t) => {
  const without = await startDaemon(t, { config: { a2a: { events: { enabled: false } } } });
  for (const extensions of [[], [EVENTS]]) {
    const answer = await without.rpc(SUBSCRIBE, {}, { extensions });
    assertRefused(answer, { ...notActivated, reason: 'EXTENSION_NOT_DECLARED' });
    assert.equal(answer.headers['a2a-extensions'], undefined);
  }
});

test('the method is answered only when the header names the URI exactly', async () => {
  for (const name of [undefined, COMMAND, `${EVENTS}/`, `${EVENTS}/v1`, EVENTS.toUpperCase(), '', ' , ,']) {
    const headers = name === undefined ? {} : { 'a2a-extensions': name };
    const answer = await subscribe('{}', { extensions: [], headers });
    assertRefused(answer, { ...notActivated, id: 7 });
  }
});

test('the header may come in several lines, with blanks and repeats; 32 tokens are looked at', async () => {
  const filler = (count) => Array.from({ length: count }, (_, i) => `urn:x:${i}`);
  const accepted = [
    `  ${EVENTS}  ,,`, [COMMAND, EVENTS], `${EVENTS},${EVENTS}`, [...filler(31), EVENTS].join(','),
    `${'x'.repeat(600)},${EVENTS}`,
  ];
  for (const value of accepted) {
    const stream = await daemon.stream(SUBSCRIBE, {}, { headers: { 'a2a-extensions': value } });
    assert.equal(stream.isStream, true, JSON.stringify(value).slice(0, 60));
    stream.destroy();
  }
  const late = [...filler(32), EVENTS].join(',');
  assertRefused(await subscribe('{}', { headers: { 'a2a-extensions': late } }), notActivated);
});

test('the stream has the headers of a stream that no proxy buffers, and echoes what was activated', async () => {
  const feed = await daemon.feed({ extensions: [ANNOTATIONS, 'urn:unknown', COMMAND] });
  const { headers } = feed.stream;
  assert.match(headers['content-type'], /^text\/event-stream/);
  assert.equal(headers['cache-control'], 'no-cache, no-transform');
  assert.equal(headers['x-accel-buffering'], 'no');
  assert.equal(headers['transfer-encoding'], 'chunked');
  assert.deepEqual(headers['a2a-extensions'].split(/, ?/), [COMMAND, EVENTS, ANNOTATIONS]);
  feed.close();
});

test('hello says where the feed is; absent params, {} and 0 are the start', async () => {
  await daemon.send('hello');
  const feeds = [await daemon.feed(), await daemon.feed({ fromSeq: 0 })];
  const bare = await daemon.stream(SUBSCRIBE, {}, { extensions: [EVENTS], id: 'seven' });
  const { id, result } = JSON.parse((await bare.next()).data);
  bare.destroy();
  assert.equal(id, 'seven');
  for (const hello of [...feeds.map((feed) => feed.hello), result.hello]) {
    assert.deepEqual([hello.resume, hello.resync, hello.introspection], [0, false, false]);
    assert.match(hello.version, /\d/);
  }
  for (const feed of feeds) {
    await feed.untilSeq(feed.hello.seq);
    feed.close();
  }
  assert.deepEqual(feeds[0].events, feeds[1].events.slice(0, feeds[0].events.length));
});

test('feed_unicode', async () => {
  const odd = 'a\r\nb\u2028c\u2029d \u{1f600} \u0000 "\\" \u007f é';
  const { id } = await daemon.sendTask(`hello ${odd}`);
  const feed = await daemon.feed({ fromSeq: 0 });
  const { data } = await feed.untilDone(id);
  feed.close();
  assert.equal(data.task.history[0].parts[0].text, `hello ${odd}`);
  const surrogate = daemon.envelope('SendMessage', { message: userMessage('hello LONE') }).replace('LONE', '\\ud800');
  const answer = await daemon.post(surrogate);
  assert.ok(answer.body.error || answer.body.result, 'refused or taken, never broken');
});

test('feed_deadline_goodbye', async (t) => {
  const brief = await startDaemon(t, { config: { a2a: { events: { deadline: '2s' } } } });
  const reference = await brief.sendTask('hello');
  const began = Date.now();
  const feed = await brief.feed({ fromSeq: 0 });
  assert.equal(await feed.drain(5_000), 'clean');
  const lasted = Date.now() - began;
  assert.ok(lasted > 1_700 && lasted < 2_700, `${lasted} ms`);
  assert.equal(feed.goodbye.reason, 'deadline');
  assert.ok(feed.goodbye.seq >= feed.seen);
  assert.ok(feed.of('task', ({ task }) => task.id === reference.id).length > 0);
  const { id } = await brief.sendTask('hello');
  const resumed = await brief.feed({ fromSeq: feed.goodbye.seq });
  assert.equal(resumed.hello.resync, false);
  await resumed.untilDone(id);
  assert.equal(resumed.of('task', ({ task }) => task.id === reference.id).length, 0, 'nothing is repeated');
  resumed.close();
});

test('feed_keepalive', { timeout: 40_000 }, async (t) => {
  const { tokens, options } = twoUsers();
  const quiet = await startDaemon(t, options);
  const operator = await quiet.feed({ token: tokens.operator });
  const alice = await quiet.feed({ token: tokens.alice });
  const { id } = await quiet.sendTask('hello', { token: tokens.bob });
  await operator.untilDone(id);
  await operator.stream.when('a comment', () => operator.stream.comments.length > 0, 20_000);
  await alice.stream.when('a comment', () => alice.stream.comments.length > 0, 20_000);
  while (operator.stream.queue.length) await operator.next();
  const [bookmark] = operator.stream.comments;
  assert.equal(bookmark.text, String(operator.seen), 'the newest number that the stream has accounted for');
  assert.equal(alice.events.length, 0);
  assert.ok(Number(alice.stream.comments[0].text) > alice.hello.seq, 'what was passed over is accounted for');
  const resumed = await quiet.feed({ fromSeq: Number(alice.stream.comments[0].text), token: tokens.alice });
  assert.equal(resumed.hello.resync, false);
  for (const feed of [operator, alice, resumed]) feed.close();
});

test("the SDK's own reader of event streams reads the feed", async () => {
  await daemon.send('hello');
  const abort = new AbortController();
  const response = await fetch(daemon.url, {
    method: 'POST', headers: daemon.headers({ extensions: [EVENTS] }), body: daemon.envelope(SUBSCRIBE, {}),
    signal: abort.signal,
  });
  let frames = 0;
  for await (const { type, data } of parseSseStream(response)) {
    assert.equal(type, 'message');
    assertFrame(JSON.parse(data).result);
    if (++frames === 5) break;
  }
  abort.abort();
  assert.equal(frames, 5);
});

test('edges are as many as asked for, share the connections and the limits, and all know what happens', async (t) => {
  const daemon = await startDaemon(t, { args: ['--edges', '3'], config: { a2a: { events: { max_streams: 6 } } } });
  const task = `/proc/${daemon.pid}/task`;
  const edges = () => readdirSync(task).map((id) => readFileSync(join(task, id, 'comm'), 'utf8').trim())
    .filter((name) => name.startsWith('agentd-edge-')).sort().join();
  await eventually('three edges', () => edges() === 'agentd-edge-0,agentd-edge-1,agentd-edge-2');
  const feeds = [];
  while (feeds.length < 6) feeds.push(await daemon.feed());
  await assert.rejects(daemon.feed(), /429/);
  const { id } = await daemon.sendTask('hello');
  const ends = await Promise.all(feeds.map((feed) => feed.untilDone(id)));
  for (const end of ends) assert.deepEqual(end, ends[0]);
  for (const feed of feeds) feed.close();
});

test('every stream has all of it by io_uring, and by a call for each where there is none', async (t) => {
  const rings = (daemon) => {
    const descriptors = `/proc/${daemon.pid}/fd`;
    return readdirSync(descriptors).filter((fd) => readlinkSync(join(descriptors, fd)).includes('io_uring')).length;
  };
  for (const [args, expected] of [[['--edges', '2'], 2], [['--edges', '2', '--no-io-uring'], 0]]) {
    const daemon = await startDaemon(t, { args });
    if (rings(daemon) !== expected) {
      assert.equal(rings(daemon), 0);
      t.diagnostic('this machine allows no io_uring');
    }
    const feeds = await Promise.all(Array.from({ length: 300 }, () => daemon.feed()));
    const { id } = await daemon.sendTask('hello');
    const ends = await Promise.all(feeds.map((feed) => feed.untilDone(id)));
    for (const end of ends) assert.deepEqual(end, ends[0]);
    for (const feed of feeds) feed.close();
    await daemon.stop();
  }
});

test('streams past the limit of a principal are 429, operators are exempt', async (t) => {
  const { tokens, options } = twoUsers({ a2a: { events: { max_streams_per_principal: 2 } } });
  const limited = await startDaemon(t, options);
  const feeds = [];
  for (const token of [tokens.alice, tokens.alice, tokens.bob, ...Array(4).fill(tokens.operator)]) {
    feeds.push(await limited.feed({ token }));
  }
  const answer = await limited.rpc(SUBSCRIBE, {}, { extensions: [EVENTS], token: tokens.alice });
  assertRefused(answer, { http: 429, code: -32603, reason: 'RATE_LIMITED' });
  assert.match(answer.headers['retry-after'], /^\d+$/);
  for (const feed of feeds) feed.close();
});

test('GET /events is the same feed without the envelope', async () => {
  const { id } = await daemon.sendTask('hello');
  const stream = await daemon.curl('?fromSeq=0&kinds=task,task.removed&follow=false');
  assert.equal(stream.isStream, true);
  const events = [];
  for (let frame = await stream.next(); frame; frame = await stream.next()) {
    const value = JSON.parse(frame.data);
    assertFrame(value);
    if (!value.event) continue;
    assert.equal(frame.id, String(value.event.seq));
    assert.match(value.event.kind, /^task/);
    events.push(value.event);
  }
  assert.equal(stream.ended, 'clean', 'follow=false ends after the replay');
  assert.ok(events.some(({ data }) => data.task?.id === id));
  const middle = events[Math.floor(events.length / 2)].seq;
  const resumed = await daemon.curl('?kinds=task&follow=false', { headers: { 'last-event-id': String(middle) } });
  const seqs = [];
  for (let frame = await resumed.next(); frame; frame = await resumed.next()) {
    const { event } = JSON.parse(frame.data);
    if (event) seqs.push(event.seq);
  }
  assert.deepEqual(seqs, events.map(({ seq }) => seq).filter((seq) => seq > middle));
});

test('GET /events follows what happens, and asks for the same credential', async (t) => {
  const { tokens, options } = twoUsers();
  const shared = await startDaemon(t, options);
  assert.equal((await shared.curl()).status, 401);
  const stream = await shared.curl('?kinds=task', { token: tokens.alice });
  await shared.sendTask('hello', { token: tokens.bob });
  const { id } = await shared.sendTask('hello', { token: tokens.alice });
  await stream.when('an own event', () => stream.queue.some((frame) => JSON.parse(frame.data).event));
  for (const frame of stream.queue) {
    const { event } = JSON.parse(frame.data);
    if (event) assert.equal(event.data.task.id, id);
  }
  stream.destroy();
});

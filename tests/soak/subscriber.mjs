// One display client: a snapshot, events applied on top of it, and a cursor with which it comes back after each cut. It is
// cut at any byte, stops reading, stays away; when it is told `resync` it drops what it has and reads it anew.
import assert from 'node:assert/strict';

import { EVENTS, SUBSCRIBE } from '../e2e/contract.mjs';
import { apply } from '../e2e/feed_reader.mjs';
import { snapshot } from '../e2e/snapshot.mjs';

const SILENCE_MS = 600_000;  // longer than any round takes
const CUT_BYTES = 400_000;   // the longest stream of those that are cut, of two in three
const STALL_EVENTS = 200;    // a reader stops within so many events, in every other stream
const STALL_MESSAGES = 100;  // of its own principal; what they make is several times what the kernel holds for it

export class Subscriber {
  constructor({ world, principal, name, random }) {
    Object.assign(this, { world, principal, name, random });
    this.state = null;  // "<kind> <id>" -> newest data, at `cursor`
    this.cursor = 0;
    this.life = 0;      // the life of the daemon that `cursor` is of
    this.last = 0;      // the newest number of the stream, which replays what a snapshot has already
    this.mustResync = false;
    this.since = null;  // {from, count}: where this continuation began, and the events it had
    this.past = [];     // continuations that are over: {from, to, count}
    this.seen = { streams: 0, resyncs: 0, lags: 0, stalls: 0, goodbyes: 0 };
  }

  get described() {
    return `subscriber ${this.name} at ${this.cursor}, ${JSON.stringify(this.seen)}`;
  }

  // Reads until stop().
  async run() {
    this.stopped = false;
    while (!this.stopped) await this.world.inOneLife(() => this.#stream());
  }

  stop() {
    this.stopped = true;
    this.stream?.destroy();
  }

  // Whether everything up to `seq` is in the state.
  has(seq) { return this.state !== null && this.cursor >= seq && this.life === this.world.life; }

  // Every event that it may see of each of its continuations was there, once.
  assertExactlyOnce() {
    this.#endContinuation();
    for (const { from, to, count } of this.past) {
      assert.equal(count, this.principal.count(from, to), `${this.described}: events past ${from} up to ${to}`);
    }
    this.past = [];
    this.#beginContinuation();
  }

  #beginContinuation() { this.since = { from: this.cursor, count: 0 }; }

  #endContinuation() {
    if (this.since !== null) this.past.push({ ...this.since, to: this.cursor });
    this.since = null;
  }

  // One stream, from hello to its end.
  async #stream() {
    const { world, random } = this;
    const { life } = world;
    const cutAfter = random() < 0.3 ? Infinity : 300 + Math.floor(random() ** 2 * CUT_BYTES);
    const stallAfter = random() < 0.5 ? Infinity : Math.floor(random() * STALL_EVENTS);
    const fromSeq = this.state === null ? 0 : this.cursor;
    const stream = await world.daemon.stream(SUBSCRIBE, { fromSeq }, {
      id: 1, extensions: [EVENTS], token: this.principal.token, reader: { cutAfter, ms: SILENCE_MS },
    });
    this.stream = stream;
    if (this.stopped) stream.destroy();
    ++this.seen.streams;
    let goodbye = false;
    try {
      goodbye = await this.#read(stream, { life, fromSeq, stallAfter });
    } finally {
      stream.destroy();
    }
    const ours = this.stopped || stream.bytes === cutAfter || life !== world.life;
    if (!ours) assert.equal(stream.ended, goodbye ? 'clean' : 'cut', 'the final chunk comes after goodbye, and only then');
    const lag = !ours && !goodbye;
    if (lag) ++this.seen.lags;
    // The ring has gone past the stream; past the cursor too, unless that is of a snapshot newer than the stream.
    this.mustResync = lag && this.cursor === this.last;
    if (random() < 0.3) await world.rings(2 * random());
  }

  // To the end; whether it said goodbye.
  async #read(stream, { life, fromSeq, stallAfter }) {
    const first = await stream.next(SILENCE_MS);
    if (first === null) return false;
    const { hello } = this.world.record.read(first.data);
    assert.ok(hello, `hello comes first: ${stream.text}${first.data}`);
    this.#assertResync(hello, life, fromSeq);
    if (hello.resync || fromSeq === 0) await this.#renew(stream, life);
    if (this.state === null) return false;
    this.last = hello.resync ? 0 : fromSeq;
    let read = 0;
    for (let raw; (raw = await stream.next(SILENCE_MS)) !== null;) {
      const { event, goodbye } = this.world.record.read(raw.data);
      const { seq } = event ?? goodbye;
      if (goodbye) {
        assert.ok(seq >= this.last, `goodbye ${seq} after ${this.last}`);
        assert.equal(await stream.next(SILENCE_MS), null, 'nothing comes after goodbye');
        ++this.seen.goodbyes;
        this.cursor = Math.max(this.cursor, seq);
        return true;
      }
      assert.ok(seq > this.last, `number ${seq} after ${this.last}`);
      this.last = seq;
      this.principal.take(event);
      if (seq > this.cursor) this.#apply(event);
      if (++read === stallAfter) await this.#stall(stream);
    }
    return false;
  }

  #apply(event) {
    apply(this.state, event);
    this.cursor = event.seq;
    ++this.since.count;
  }

  // events.md section 5, to the number: the ring is full, or nothing of this life was evicted.
  #assertResync(hello, life, fromSeq) {
    const stale = this.life !== life || fromSeq < hello.seq - this.world.ring;
    assert.equal(hello.resync, fromSeq !== 0 && stale, JSON.stringify({ hello, stale }));
    if (this.mustResync && fromSeq !== 0) assert.ok(hello.resync, 'nobody cuts a stream that did not fall behind');
  }

  // The state anew; the stream, which replays the ring meanwhile, is read on past what the snapshot has.
  async #renew(stream, life) {
    this.#endContinuation();
    this.state = null;
    ++this.seen.resyncs;
    stream.pause();
    const { seq, state } = await snapshot(this.world.daemon, this.principal.token);
    stream.resume();
    if (life !== this.world.life) return;
    Object.assign(this, { state, cursor: seq, life });
    this.#beginContinuation();
  }

  async #stall(stream) {
    ++this.seen.stalls;
    stream.pause();
    await this.world.ownMessages(STALL_MESSAGES * this.random());
    stream.resume();
  }
}

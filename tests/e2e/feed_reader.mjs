// A subscriber of the events feed. It holds every frame it reads to the published schema and to the rules of a
// stream: hello first, numbers that only grow, nothing after goodbye, one `data:` line and nothing else.
import assert from 'node:assert/strict';

import { isTerminal, objectOf } from './contract.mjs';
import { assertFrame } from './schemas.mjs';
import { parseResult } from './sse.mjs';

export class Feed {
  static async over(stream) {
    const feed = new Feed(stream);
    if (!stream.isStream) {
      await stream.end();
      throw new Error(`the feed was refused: HTTP ${stream.status} ${stream.text}`);
    }
    assert.equal(stream.status, 200);
    feed.hello = (await feed.#frame()).hello;
    assert.ok(feed.hello, 'the first frame is a hello');
    feed.seen = feed.hello.resync ? 0 : feed.hello.resume;
    feed.cursor = feed.hello.resync ? 0 : feed.hello.resume;
    return feed;
  }

  constructor(stream) {
    this.stream = stream;
    this.events = [];
    this.goodbye = null;
    this.over = false;
    this.seen = 0;
  }

  async #frame(ms) {
    const raw = await this.stream.next(ms);
    if (raw === null) return null;
    assert.deepEqual(raw.fields, ['data'], 'one data line and no other field');
    const frame = parseResult(raw);
    assertFrame(frame);
    return frame;
  }

  // The next event, or null once at the end of the stream (`goodbye` and `stream.ended` say which end). Reading past
  // the end throws, so that no loop waits for ever for an event of a stream that was cut.
  async next(ms) {
    assert.equal(this.over, false, `the feed has ended (${this.stream.ended}) after ${this.events.length} events`);
    const frame = await this.#frame(ms);
    this.over = frame === null || frame.goodbye !== undefined;
    if (frame === null) return null;
    assert.equal(frame.hello, undefined, 'one hello only');
    if (frame.goodbye) {
      this.goodbye = frame.goodbye;
      this.cursor = frame.goodbye.seq;
      return null;
    }
    const { event } = frame;
    assert.ok(event.seq > this.seen, `seq ${event.seq} grows past ${this.seen}`);
    this.seen = event.seq;
    this.cursor = event.seq;
    this.events.push(event);
    return event;
  }

  // Reads on until an event meets `condition`; gives that event.
  async until(what, condition, ms = 10_000) {
    const end = Date.now() + ms;
    for (;;) {
      const event = await this.next(Math.max(1, end - Date.now())).catch((error) => {
        throw new Error(`no ${what} on the feed; seen: ${this.events.map((e) => e.kind).join(' ')}`, { cause: error });
      });
      if (event === null) throw new Error(`the feed ended before ${what}`);
      if (condition(event)) return event;
    }
  }

  // The terminal event of a task.
  untilDone(taskId, ms) {
    return this.until(`end of task ${taskId}`,
      ({ kind, data }) => kind === 'task' && data.task.id === taskId && isTerminal(data.task), ms);
  }

  untilSeq(seq, ms) {
    if (this.seen >= seq) return null;
    return this.until(`seq ${seq}`, (event) => event.seq >= seq, ms);
  }

  // Reads to the end of the stream: "clean" or "cut".
  async drain(ms) {
    while (!this.over) await this.next(ms);
    const ended = await this.stream.end(ms);
    assert.equal(this.stream.queue.length, 0, 'nothing comes after goodbye');
    return ended;
  }

  of(kind, condition = () => true) {
    return this.events.filter((event) => event.kind === kind && condition(event.data));
  }

  close() { this.stream.destroy(); }
}

// One event applied to what a display client knows: "<kind> <id>" to the newest data.
export function apply(state, event) {
  const object = objectOf(event);
  if (object === null) {
    if (event.kind === 'status') state.set('status', event.data);
  } else if (event.kind.endsWith('.removed')) {
    state.delete(object.join(' '));
  } else {
    state.set(object.join(' '), event.data);
  }
}

export function mirror(events) {
  const state = new Map();
  for (const event of events) apply(state, event);
  return state;
}

// The feed's order is the order in which things happened (events.md 5.7), for events read from one life's start.
export function assertCausal(events) {
  const gone = new Set();
  for (const event of events) {
    const object = objectOf(event)?.join(' ');
    if (object !== undefined) {
      assert.equal(gone.has(object), false, `nothing for ${object} after its removal`);
      if (event.kind.endsWith('.removed')) gone.add(object);
    }
  }
  for (const runId of new Set(events.filter((e) => e.kind === 'run').map((e) => e.data.id))) {
    const at = (wanted) => events.flatMap((e, index) => (wanted(e) ? [index] : []));
    const runs = at((e) => e.kind === 'run' && e.data.id === runId);
    const steps = at((e) => e.kind === 'step' && e.data.run === runId);
    const over = !['pending', 'running', 'suspended', 'paused'].includes(events[runs.at(-1)].data.status);
    for (const step of steps) {
      assert.ok(step > runs[0], `step event of run ${runId} after its first event`);
      if (over) assert.ok(step < runs.at(-1), `step event of run ${runId} before its last event`);
    }
  }
}

// What was sent under each number, by whomever it was read first, and who may see it. Every delivery is held to it. It is
// read once for all who are sent the same bytes, so that millions of deliveries cost little.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';

import { KINDS, objectOf } from '../e2e/contract.mjs';
import { parseResult } from '../e2e/sse.mjs';
import { isContextOf } from './load.mjs';

export class Record {
  // `recent`: of how many frames the text is kept.
  constructor(recent) {
    this.recent = recent;
    this.frames = new Map();   // text -> frame, the newest ones
    this.digests = new Map();  // number -> digest of its text
    this.owners = new Map();   // "<kind> <id>" -> name of the principal
    this.deliveries = 0;
    this.bytes = 0;
  }

  // The frame of an SSE event, which is not to be changed.
  read(data) {
    ++this.deliveries;
    this.bytes += data.length;
    const known = this.frames.get(data);
    if (known !== undefined) return known;
    const frame = parseResult({ data });
    if (frame.event === undefined) return frame;
    const { seq } = frame.event;
    const digest = createHash('md5').update(data).digest().readInt32LE();
    const first = this.digests.get(seq);
    assert.ok(first === undefined || first === digest, `number ${seq} had another content before: ${data}`);
    this.digests.set(seq, digest);
    this.frames.set(data, frame);
    if (this.frames.size > this.recent) this.frames.delete(this.frames.keys().next().value);
    return frame;
  }
}

// One who may read: a user, who sees what is theirs, or an operator, who sees all.
export class Principal {
  constructor(record, name, token) {
    Object.assign(this, { record, name, token });
    this.numbers = new Set();  // of the events that any subscriber of this user was sent
    this.sorted = [];
  }

  get isOperator() { return this.name === 'operator'; }

  // An event that this principal was sent.
  take(event) {
    if (this.isOperator || this.numbers.has(event.seq)) return;
    this.numbers.add(event.seq);
    const { kind, data } = event;
    const whose = `${this.name} was sent ${JSON.stringify(event)}`;
    assert.notEqual(KINDS.get(kind).audience, 'operator', whose);
    const object = objectOf(event)?.join(' ');
    if (object === undefined) return;
    const { owners } = this.record;
    if (!owners.has(object)) owners.set(object, this.name);
    assert.equal(owners.get(object), this.name, whose);
    if (kind === 'task') assert.ok(isContextOf(this.name, data.task.contextId), whose);
    if (data.principal !== undefined) assert.equal(data.principal, `user:${this.name}`, whose);
  }

  // How many events past `from` up to `to` it may see; once all of its subscribers have read that far.
  count(from, to) {
    if (this.isOperator) return to - from;
    if (this.sorted.length !== this.numbers.size) this.sorted = [...this.numbers].sort((a, b) => a - b);
    return this.#upTo(to) - this.#upTo(from);
  }

  #upTo(seq) {
    let [low, high] = [0, this.sorted.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.sorted[middle] <= seq) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

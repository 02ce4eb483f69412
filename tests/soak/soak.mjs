// Many subscribers of many principals go through cuts, stalls, absences and a `kill -9` of the daemon. At the end of each
// round everybody knows what the server knows, was told every event once and nothing of anybody else's, and the daemon
// has as much memory as before.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';

import { objectOf } from '../e2e/contract.mjs';
import { mirror } from '../e2e/feed_reader.mjs';
import { Daemon, users } from '../e2e/harness.mjs';
import { assertBelow, eventually, seeded } from '../e2e/processes.mjs';
import { snapshot, statusOf } from '../e2e/snapshot.mjs';
import { EVENTS_PER_MESSAGE, Load, workflow } from './load.mjs';
import { Principal, Record } from './record.mjs';
import { Subscriber } from './subscriber.mjs';

const SETTLE_MS = 180_000;
const STATUS_LISTS = 500;  // objects of a kind that `status` has at most

// `subscribers` is of each principal, `operators` are those that see all. A round has its share of the messages, which
// `clients` send; a message makes about ten events. One in ten has a text of up to `longest` characters.
export const whole = {
  principals: 200, subscribers: 10, operators: 2, messages: 100_000, rounds: 4, clients: 16, ring: 8_192, longest: 8_000,
  deadline: '30s',
};
export const short = {
  principals: 5, subscribers: 12, operators: 1, messages: 400, rounds: 2, clients: 8, ring: 512, longest: 30_000,
  deadline: '4s',
};

// Gives what was done, in numbers.
export async function soak(options, say) {
  const seed = Number(process.env.AGENTD_E2E_SEED ?? 1);
  const one = new Soak({ ...options, seed }, say);
  try {
    return await one.run();
  } catch (error) {
    throw new Error(`soak with AGENTD_E2E_SEED=${seed}: ${error.message}`, { cause: error });
  } finally {
    await one.dispose();
  }
}

class Soak {
  constructor({ seed, principals, subscribers, operators, ring, longest, deadline, ...options }, say) {
    Object.assign(this, options, { seed, ring, say });
    const names = Array.from({ length: principals }, (_, index) => `p${index}`);
    const departing = { keep_last: Math.min(STATUS_LISTS, 3 * principals) };
    const { tokens, options: { env, config } } = users(names, {
      a2a: { events: { ring, ring_bytes: '1GiB', deadline, write_timeout: '1h' } },
      store: { retention: { tasks: { keep_last: 10 * principals }, runs: departing, conversations: departing } },
      workflows: [workflow],
    });
    this.daemon = new Daemon({ env, config });
    this.life = 1;  // of the daemon
    this.record = new Record(ring);
    const random = (stream) => seeded(seed + 1_000_003 * stream);
    this.load = new Load({ world: this, names, tokens, longest, random: random(0) });
    this.people = ['operator', ...names].map((name) => new Principal(this.record, name, tokens[name]));
    const each = (principal) => Array.from({ length: principal.isOperator ? operators : subscribers },
      (_, index) => ({ principal, name: `${principal.name}/${index}` }));
    this.subscribers = this.people.flatMap(each)
      .map((who, index) => new Subscriber({ world: this, ...who, random: random(index + 1) }));
  }

  // Runs `body` with the daemon that is there. What a kill cuts off is over, and is no failure.
  async inOneLife(body) {
    const { life, up } = this;
    await up;
    try {
      await body();
    } catch (error) {
      if (life === this.life || error.code === 'ERR_ASSERTION') throw error;
    }
  }

  // While about `count` times as many events happen as the ring holds, or to the end of the load.
  rings(count) { return this.load.reaches(this.load.sent + count * this.ring / EVENTS_PER_MESSAGE); }

  // While about `count` messages of each principal are sent, or to the end of the load.
  ownMessages(count) { return this.load.reaches(this.load.sent + count * this.people.length); }

  async run() {
    this.up = this.daemon.start();
    await this.up;
    const idle = this.#descriptors();
    let before;
    for (let round = 0; round < this.rounds; ++round) {
      await this.#round({ kill: round === 0 });
      this.daemon.agent.destroy();
      await eventually('the end of all connections', () => this.#descriptors() <= idle, SETTLE_MS);
      const memory = this.#memory();
      this.say(`round ${round + 1}: ${JSON.stringify({ ...this.#done(), memory })}`);
      before ??= memory;
      assertBelow(memory, 1.25 * before + 16, `MiB in the daemon, after the first round it had ${before}`);
    }
    await this.daemon.stop();
    return this.#done();
  }

  async dispose() {
    for (const subscriber of this.subscribers) subscriber.stop();
    await this.daemon.dispose();
  }

  async #round({ kill }) {
    const reading = Promise.all(this.subscribers.map((subscriber) => subscriber.run().catch((error) => {
      throw new Error(`${subscriber.described}: ${error.message}`, { cause: error });
    })));
    const work = async () => {
      const count = Math.floor(this.messages / this.rounds);
      const middle = this.load.sent + Math.floor(count / 2);
      const sending = this.load.run(count, this.clients);
      if (kill) await Promise.race([this.load.reaches(middle).then(() => this.#kill()), sending]);
      await sending;
      await this.#settle();
    };
    await Promise.race([work(), reading]);
    for (const subscriber of this.subscribers) subscriber.stop();
    await reading;
    for (const subscriber of this.subscribers) subscriber.assertExactlyOnce();
  }

  #kill() {
    ++this.life;
    this.up = this.daemon.restart({ kill: true });
    return this.up;
  }

  // Every subscriber comes to know what the server knows.
  async #settle() {
    for (const principal of this.people) {
      const { state, last } = await this.#truth(principal);
      for (const subscriber of this.subscribers.filter((one) => one.principal === principal)) {
        await eventually(`${subscriber.described} at ${last}`, () => subscriber.has(last), SETTLE_MS);
        assertSame(subscriber.described, subscriber.state, state);
      }
    }
  }

  // What the server says to a principal in a moment in which nothing happens: the snapshot, and GetTask and the whole
  // ring, which cannot say otherwise. `last` is the newest number that this principal sees.
  #truth(principal) {
    const { token } = principal;
    return eventually(`a moment in which nothing happens for ${principal.name}`, async () => {
      const { seq, state } = await snapshot(this.daemon, token);
      const events = await this.#wholeRing(token);
      if (events === null) return false;
      const tasks = principal.isOperator ? [] : [...state].filter(([key]) => key.startsWith('task '));
      const read = await Promise.all(tasks.map(async ([key, { task: { id } }]) => (
        [key, { task: await this.daemon.getTask(id, { token }) }])));
      if ((await statusOf(this.daemon, token)).seq !== seq) return false;
      assertSame(`GetTask of ${principal.name}`, new Map(read), new Map(tasks));
      const touched = new Set(events.map((event) => objectOf(event)?.join(' ')));
      assertSame(`the ring for ${principal.name}`, mirror(events), new Map([...state].filter(([key]) => touched.has(key))));
      for (const event of events) principal.take(event);
      return { state, last: events.at(-1)?.seq ?? 0 };
    }, SETTLE_MS);
  }

  // All events of the ring, or null when the deadline of streams came first.
  async #wholeRing(token) {
    const stream = await this.daemon.curl('?follow=false', { token });
    const frames = [];
    for (let raw; (raw = await stream.next()) !== null;) frames.push(JSON.parse(raw.data));
    assert.equal(stream.ended, 'clean');
    assert.ok(frames[0].hello);
    return frames.at(-1).goodbye ? null : frames.slice(1).map(({ event }) => event);
  }

  #descriptors() { return readdirSync(`/proc/${this.daemon.pid}/fd`).length; }

  // MiB of its own that the daemon has in memory.
  #memory() {
    const [, kib] = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${this.daemon.pid}/status`, 'utf8'));
    return Math.round(kib / 1024);
  }

  #done() {
    const { digests, deliveries, bytes } = this.record;
    const done = { messages: this.load.sent, events: digests.size, deliveries, mib: Math.round(bytes / 2 ** 20) };
    for (const { seen } of this.subscribers) {
      for (const [what, count] of Object.entries(seen)) done[what] = (done[what] ?? 0) + count;
    }
    return done;
  }
}

// `state` against what it should be; of those that differ three are shown.
function assertSame(whose, state, truth) {
  const differ = [...new Set([...state.keys(), ...truth.keys()])]
    .filter((key) => key !== 'status' && !isDeepStrictEqual(state.get(key), truth.get(key)));
  const brief = (data) => (JSON.stringify(data) ?? 'nothing').slice(0, 2_000);
  const shown = differ.slice(0, 3)
    .map((key) => `\n${key}:\n  ${brief(state.get(key))}\nthe server:\n  ${brief(truth.get(key))}`);
  assert.equal(differ.length, 0, `${whose}: ${differ.length} objects differ${shown.join('')}`);
}

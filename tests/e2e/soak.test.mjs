// The soak of tests/soak in small.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { short, soak } from '../soak/soak.mjs';

test('subscribers that are cut, stalled and restarted know what the server knows', { timeout: 120_000 }, async (t) => {
  const { events, streams, resyncs, stalls } = await soak(short, (line) => t.diagnostic(line));
  const subscribers = short.principals * short.subscribers + short.operators;
  assert.ok(events > 5 * short.messages, `${events} events`);
  assert.ok(streams > 2 * subscribers && resyncs > subscribers && stalls > 0, 'it was no idle soak');
});

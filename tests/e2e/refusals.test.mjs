// Every refusal of access.md section 3, over TCP, TLS and a unix socket: what is answered, and whether it counts as a
// failure of the source. Which check comes first, and what is let through, is in errors.test.mjs.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { Authority } from './certificates.mjs';
import { COMMAND } from './contract.mjs';
import { commandMessage, request, startDaemon, userMessage, users } from './harness.mjs';
import { eventually, makeFolder } from './processes.mjs';
import { assertRefused, detail } from './refusals.mjs';
import { done, letIn, signIn } from './sign_in.mjs';
import { workflows } from './workflows.mjs';

const UI = 'https://ui.example';
const MOST = 2 * 1024 * 1024;  // bytes of a body
const folder = makeFolder();
const authority = new Authority(folder);
const server = authority.issueServer();
const { tokens, options } = users(['alice', 'bob', 'eager'], {
  a2a: {
    ...signIn().a2a,
    listen: ['http://127.0.0.1:0', 'https://127.0.0.1:0', `unix://${join(folder, 'agentd.sock')}`],
    tls: { ...server, client_ca: authority.file },
    cors: { origins: [UI] },
  },
  workflows: [workflows.pair],
});
options.config.a2a.principals[1].grants = ['workflow.run:other'];
options.config.a2a.principals[2].rate = '1/1h';
const daemon = await startDaemon(undefined, options);
const operator = { token: tokens.operator };
const [tcp, tls, unix] = JSON.parse(daemon.log.split('\n').find((line) => line.includes('"listening"'))).urls;

// ---- the ways in

const issued = authority.issue('stranger', { names: 'DNS:stranger.example' });
const certificates = { stranger: { cert: readFileSync(issued.cert), key: readFileSync(issued.key) } };

// Each address of 127.0.0.0/8 is a source of its own.
let sources = 0;
const newSource = () => ({ localAddress: `127.1.${sources >> 7}.${(sources++ & 127) + 1}` });

// What is asked in these ways: {body, headers, token, certificate, version, extensions, held}.
const post = ({ body, held, ...asked }) => ({ method: 'POST', headers: daemon.headers(asked), body, held });
const transports = {
  tcp: (asked, from) => request(tcp, { ...post(asked), from }),
  tls: (asked, from) => request(tls, {
    ...post(asked), from, tls: { ca: authority.pem, servername: 'localhost', ...certificates[asked.certificate] },
  }),
  unix: (asked) => request('http://localhost', { ...post(asked), from: { socketPath: unix.slice('unix://'.length) } }),
};

async function ask(transport, asked, from) {
  const answer = await transports[transport](asked, from);
  try { answer.body = answer.json(); } catch { answer.body = undefined; }
  return answer;
}

// Whether a source has failed so often that it is told to wait; to present nothing is no failure.
async function isHeldBack(transport, from) {
  const { status } = await ask(transport, { body: envelope() }, from);
  assert.ok(status === 401 || status === 429, `HTTP ${status}`);
  return status === 429;
}

const many = (transport, asked, from) => Promise.all(Array.from({ length: 25 }, () => ask(transport, asked, from)));

// ---- the table

const envelope = (over) => JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'ListTasks', params: {}, ...over });
const sent = (message) => envelope({ method: 'SendMessage', params: { message } });
const command = (op, args) => ({ body: sent(commandMessage(op, args)), extensions: [COMMAND] });
const nested = (depth) => envelope({ params: 'DEEP' }).replace('"DEEP"', `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`);
const notUtf8 = Buffer.from(envelope({ method: '~~' })).map((byte) => (byte === 0x7e ? 0xff : byte));

const list = { body: envelope() };
const mapped = (names, make) => Object.fromEntries(names.map((name) => [name, make(name)]));
const alices = (bodies) => mapped(Object.keys(bodies), (name) => ({ body: bodies[name], token: tokens.alice }));

// Somebody who was signed in, and somebody who has asked as often as its rule allows.
const gone = await letIn({ daemon, operator }, 'gone');
await done(daemon, 'auth.sessions.revoke', { sid: gone.sid }, operator);
await daemon.call('ListTasks', {}, { token: tokens.eager });

const CHALLENGE = 'Bearer realm="agentd"';
const NO_CERTIFICATE = 'there are no client certificates without TLS';
const OPERATOR = 'a unix peer is the operator, whatever it presents';

// `asks`: the requests that are refused so; `id`: null, or 7 where it is echoed. `headers`: those of the refusal, and all
// others of the table are absent. `says`: in the message, what is to be done. `counted`: as a failure of the source.
// `early`: on the headers, without waiting for a body that they announce. `never`: where there is no such row, and why;
// a unix peer is then served.
const rows = [
  {
    what: 'an Origin that is not listed, or a Host that is not ours',
    asks: {
      foreign: { ...list, token: 'wrong', headers: { origin: 'https://evil.example' } },
      null: { ...list, token: tokens.operator, headers: { origin: 'null' } },
      'a foreign Host': { ...list, token: 'wrong', headers: { host: 'evil.example' } },
    },
    early: true, empty: true, http: 403, headers: { vary: 'Origin' },
  },
  {
    what: 'a Content-Type that is not JSON',
    asks: mapped(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', ''],
      (type) => ({ body: '{', token: 'wrong', headers: { 'content-type': type } })),
    http: 200, code: -32005, reason: 'CONTENT_TYPE_NOT_SUPPORTED', id: null,
    says: /Content-Type: application\/json/, early: true,
  },
  {
    what: 'nothing presented',
    asks: { nothing: list, 'another scheme': { ...list, headers: { authorization: 'Basic YWxpY2U6eA==' } } },
    http: 401, code: -31401, reason: 'UNAUTHENTICATED', id: null, headers: { 'www-authenticate': CHALLENGE },
    says: /send the header 'Authorization: Bearer <token>'; 'agentd login' gets a token/,
    early: true, never: { unix: OPERATOR },
  },
  {
    what: 'a bad, expired or revoked credential',
    asks: mapped(['wrong', `${tokens.alice}x`, '', 'agentd_at_wrong', `agentd_at_${'0'.repeat(64)}`, gone.token],
      (token) => ({ ...list, headers: { authorization: `Bearer ${token}` } })),
    http: 401, code: -31401, reason: 'UNAUTHENTICATED', id: null,
    headers: { 'www-authenticate': `${CHALLENGE}, error="invalid_token"` },
    says: /ask the operator of this daemon for one|sign in again with 'agentd login'/,
    early: true, counted: true, never: { unix: OPERATOR },
  },
  {
    what: 'a certificate that matches no rule',
    asks: { stranger: { ...list, certificate: 'stranger' } },
    http: 403, code: -31403, reason: 'PERMISSION_DENIED', id: null, says: /no rule of a2a\.principals matches/,
    early: true, counted: true, never: { tcp: NO_CERTIFICATE, unix: NO_CERTIFICATE },
  },
  {
    what: 'an op that is not permitted',
    asks: {
      "an operator's": { ...command('auth.sessions'), token: tokens.alice },
      'not granted': { ...command('workflow.run', { workflow: 'pair' }), token: tokens.bob },
    },
    http: 403, code: -31403, reason: 'PERMISSION_DENIED', id: 7,
    says: /^auth\.sessions is for operators$|^you may not run the workflow "pair"; an operator can grant it to you$/,
    never: { unix: OPERATOR },
  },
  {
    what: 'the rate of a principal',
    asks: {
      again: { ...list, token: tokens.eager },
      'an unknown method': { body: envelope({ method: 'x' }), token: tokens.eager },
    },
    http: 429, code: -32603, reason: 'RATE_LIMITED', id: 7, retryAfter: [1, 3600],
    says: /^you send more requests .*; try again in \d+ s$/,
    never: { unix: OPERATOR },
  },
  {
    what: 'a body that is not JSON, or deeper than 128',
    asks: alices({
      nothing: '', 'an end': '{', 'more after it': `${envelope()}x`, quotes: "{'a':1}", 'a NUL': '\0', 'no UTF-8': notUtf8,
      'deep objects': nested(128), 'deep arrays': '['.repeat(129),
    }),
    http: 200, code: -32700, id: null, says: /^the body is /,
  },
  {
    what: 'a body over 2 MiB',
    asks: {
      announced: { held: true, token: tokens.alice, headers: { 'content-length': `${MOST + 1}` } },
      sent: { body: 'x'.repeat(MOST + 1), token: tokens.alice, headers: { 'transfer-encoding': 'chunked' } },
    },
    http: 413, code: -32700, id: null, says: /too large/,
  },
  {
    what: 'an envelope without an id to answer under',
    asks: alices({
      'an empty batch': '[]', 'a batch': `[${envelope()}]`, 'a number': '1', 'a string': '"ListTasks"', null: 'null',
      'no id': envelope({ id: undefined }), 'a null id': envelope({ id: null }), 'a fractional id': envelope({ id: 1.5 }),
      'a boolean id': envelope({ id: true }), 'an object as id': envelope({ id: {} }),
    }),
    http: 200, code: -32600, id: null, says: /one request at a time|is a JSON object|'id' must be a string or an integer/,
  },
  {
    what: 'another wrong envelope',
    asks: alices({
      'no jsonrpc': envelope({ jsonrpc: undefined }), 'jsonrpc 1.0': envelope({ jsonrpc: '1.0' }),
      'jsonrpc as a number': envelope({ jsonrpc: 2.0 }), 'no method': envelope({ method: undefined }),
      'a number as method': envelope({ method: 1 }),
    }),
    http: 200, code: -32600, id: 7, says: /'jsonrpc' must be "2\.0"|'method' must be a string/,
  },
  {
    what: 'params that are not an object',
    asks: mapped(['[]', '[1]', '"x"', '1', 'true'],
      (params) => ({ body: envelope({ params: JSON.parse(params) }), token: tokens.alice })),
    http: 200, code: -32602, id: 7, fields: ['params'], says: /'params' must be an object/,
  },
  {
    what: 'an A2A-Version that is missing, or not 1.0 or 1.0.x',
    asks: mapped([null, '', '0.3', '0.3.0', '1', '1.1', '2.0', '1.0.x', 'x'],
      (version) => ({ ...list, token: tokens.alice, version })),
    http: 200, code: -32009, reason: 'VERSION_NOT_SUPPORTED', id: 7, metadata: { supportedVersions: '1.0' },
    says: /'A2A-Version: 1\.0'/,
  },
  {
    what: 'an unknown method',
    asks: mapped(['NoSuchMethod', 'message/send', 'listtasks', ''],
      (method) => ({ body: envelope({ method }), token: tokens.alice })),
    http: 200, code: -32601, id: 7, says: /the names are those of A2A 1\.0, such as SendMessage/,
  },
];

// ---- what is asserted of each

const HEADERS = ['www-authenticate', 'retry-after', 'vary', 'access-control-allow-origin', 'a2a-extensions'];

function assertRow(answer, { empty, http, code, reason, id, metadata = {}, fields, headers = {}, retryAfter, says }) {
  const wanted = { ...headers };
  if (empty) {
    assert.deepEqual([answer.status, answer.text], [http, '']);
  } else {
    const after = answer.headers['retry-after'];
    if (retryAfter) {
      assert.match(after ?? 'none', /^\d+$/, 'Retry-After');
      assert.ok(retryAfter[0] <= after && after <= retryAfter[1], `Retry-After: ${after}`);
      wanted['retry-after'] = after;
    }
    assertRefused(answer, {
      http, code, reason, id, fields, metadata: { ...metadata, ...(retryAfter && { retryAfterSeconds: after }) },
    });
    if (reason === undefined) assert.equal(detail(answer.body.error, 'ErrorInfo'), undefined);
    assert.match(answer.body.error.message, says);
  }
  // Those of the command extension say that it was activated, here as elsewhere.
  if (answer.headers['a2a-extensions'] === COMMAND) wanted['a2a-extensions'] = COMMAND;
  for (const name of HEADERS) assert.equal(answer.headers[name], wanted[name], name);
}

const unsent = (asked) => ({ ...asked, held: true, headers: { ...asked.headers, 'content-length': '1000' } });

for (const { what, asks, early = false, counted = false, never = {}, ...expected } of rows) {
  test(what, async (t) => {
    for (const transport of Object.keys(transports)) {
      if (never[transport]) {
        await t.test(`${transport}: cannot be, for ${never[transport]}`, async () => {
          if (transport !== 'unix') return;
          for (const asked of Object.values(asks)) assert.equal((await ask('unix', asked)).status, 200);
        });
        continue;
      }
      await t.test(`${transport}${counted ? '' : ', and it is no failure'}`, async () => {
        for (const [name, asked] of Object.entries(asks)) {
          const answers = [await ask(transport, asked, newSource())];
          if (early) answers.push(await ask(transport, unsent(asked), newSource()));
          for (const answer of answers) assert.doesNotThrow(() => assertRow(answer, expected), name);
          if (transport === 'unix') continue;  // it is nobody's source
          const source = newSource();
          await many(transport, asked, source);
          assert.equal(await isHeldBack(transport, source), counted, `${name}: counted`);
        }
      });
    }
  });
}

test('a body is asked for once its sender is let in', async (t) => {
  for (const transport of Object.keys(transports)) {
    await t.test(transport, async () => {
      const asked = { token: tokens.alice, headers: { 'content-length': '1000', expect: '100-continue' }, held: true };
      assert.equal((await ask(transport, asked, newSource())).status, 100);
    });
  }
});

test('an unknown method is the same for every caller', async (t) => {
  for (const transport of Object.keys(transports)) {
    await t.test(transport, async () => {
      const asked = { body: envelope({ method: 'Nothing' }) };
      const { operator: boss, alice, bob } = tokens;
      const answers = await Promise.all([boss, alice, bob].map((token) => ask(transport, { ...asked, token })));
      assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
    });
  }
});

const LIMITED = {
  http: 429, code: -32603, reason: 'RATE_LIMITED', id: null, retryAfter: [1, 3],
  says: /^too many credentials from your address were refused; try again in \d s$/,
};

test('a source over the failure limit', async (t) => {
  const session = await letIn({ daemon, operator }, 'ada');
  for (const transport of ['tcp', 'tls']) {
    await t.test(transport, async () => {
      const source = newSource();
      await many(transport, { ...list, token: 'wrong' }, source);
      // A right token too, or the answer would tell who guesses that it is right.
      for (const asked of [list, { ...list, token: 'wrong' }, { ...list, token: tokens.alice }]) {
        assertRow(await ask(transport, unsent(asked), source), LIMITED);
      }
      const { body } = await ask(transport, { ...list, token: session.token }, source);
      assert.ok(body.result, 'a live session is still served');
    });
  }
  await t.test(`unix: cannot be, for ${OPERATOR}`, async () => {
    for (const { status } of await many('unix', { ...list, token: 'wrong' })) assert.equal(status, 200);
  });
});

test('a session that dies during a unary call', async (t) => {
  for (const transport of ['tcp', 'tls']) {
    await t.test(`${transport}, and it is no failure`, async () => {
      const { token, sid } = await letIn({ daemon, operator }, transport);
      const source = newSource();
      const waiting = many(transport, { body: sent(userMessage('forever')), token }, source);
      await eventually('the calls', async () => (await daemon.allTasks({}, { token })).length === 25);
      await done(daemon, 'auth.sessions.revoke', { sid }, operator);
      for (const answer of await waiting) {
        assertRow(answer, {
          http: 401, code: -31401, reason: 'UNAUTHENTICATED', id: 7,
          headers: { 'www-authenticate': `${CHALLENGE}, error="invalid_token"` }, says: /sign in again with 'agentd login'/,
        });
      }
      assert.equal(await isHeldBack(transport, source), false);
    });
  }
  await t.test(`unix: cannot be, for ${OPERATOR}`, async () => {
    assert.ok((await ask('unix', { ...list, token: gone.token })).body.result);
  });
});

// The last, for it ends the daemon; the calls of the test before it are the work that it waits for.
test('work while it drains', async (t) => {
  const feed = await daemon.feed(operator);
  daemon.program.child.kill('SIGTERM');
  await feed.until('the drain', ({ kind }) => kind === 'lifecycle');
  feed.close();
  for (const transport of Object.keys(transports)) {
    await t.test(transport, async () => {
      for (const asked of [
        { body: sent(userMessage('hello')) },
        { body: envelope({ method: 'SendStreamingMessage', params: { message: userMessage('hello') } }) },
        command('workflow.run', { workflow: 'pair' }),
      ]) {
        assertRow(await ask(transport, { ...asked, token: tokens.alice }, newSource()), {
          http: 200, code: -32603, reason: 'DRAINING', id: 7, says: /is shutting down; send it again later/,
        });
      }
      for (const asked of [list, command('status')]) {
        const { body } = await ask(transport, { ...asked, token: tokens.alice }, newSource());
        assert.ok(body.result, 'what reads is served');
      }
    });
  }
});

// TLS: the whole surface over it, what is refused before HTTP begins, client certificates, and new files while it runs.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFileSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import net from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import tls from 'node:tls';

import { Authority, newRsaKey } from './certificates.mjs';
import { isTerminal } from './contract.mjs';
import { request, startDaemon, userMessage } from './harness.mjs';
import { eventually, makeFolder, removeFolder, run, within } from './processes.mjs';

const TOKEN = 'the-token-of-the-operator';
const CARD = '/.well-known/agent-card.json';

// A CA, and a daemon with a certificate of it. `a2a` gives more of that section.
async function startTls(t, a2a = () => ({}), options = {}) {
  const folder = makeFolder();
  t.after(() => removeFolder(folder));
  const authority = new Authority(folder);
  const server = authority.issueServer();
  const config = { a2a: { listen: 'https://127.0.0.1:0', tls: server, ...a2a(authority, server, folder) } };
  const daemon = await startDaemon(t, { tls: { ca: authority.pem }, config, ...options });
  return { authority, daemon, folder, server };
}

const portOf = (url) => Number(new URL(url).port);

// A program to its end: {code, stdout, stderr}.
const program = (name, args, input = '') => new Promise((resolve) => {
  const child = execFile(name, args, { timeout: 20_000 }, (error, stdout, stderr) => {
    resolve({ code: error ? error.code : 0, stdout, stderr });
  });
  child.stdin.on('error', () => {}).end(input);
});
const curl = (...args) => program('curl', ['-sS', '--max-time', '15', ...args]);
const sClient = (url, ...args) => program('openssl', ['s_client', '-connect', `127.0.0.1:${portOf(url)}`, ...args]);

// A TLS connection of Node's, after the handshake; rejects when that fails.
const connect = (daemon, options = {}) => within(10_000, 'a TLS handshake', new Promise((resolve, reject) => {
  const socket = tls.connect({
    host: '127.0.0.1', port: portOf(daemon.url), ...daemon.tls, ...options,
  }, () => { socket.off('error', reject); resolve(socket); });
  socket.once('error', reject);
}));
const closed = (socket) => within(15_000, 'the end of the connection', new Promise((resolve) => {
  socket.on('error', () => {}).once('close', resolve).resume();
}));

const stillServes = async (daemon) => assert.ok(isTerminal(await daemon.sendTask('hello')));

test('the whole surface over TLS', async (t) => {
  const { daemon } = await startTls(t);
  const card = (await request(daemon.url + CARD, { tls: daemon.tls })).json();
  assert.equal(card.supportedInterfaces[0].url, `${daemon.url}/`);

  const feed = await daemon.feed();
  t.after(() => feed.close());
  const task = await daemon.sendTask('hello');
  await feed.untilDone(task.id);
  assert.deepEqual((await daemon.getTask(task.id)).id, task.id);

  const results = await (await daemon.stream('SendStreamingMessage', { message: userMessage('hello') })).results();
  assert.ok(isTerminal({ status: results.at(-1).statusUpdate?.status ?? results.at(-1).task.status }));

  // A cut reader goes on where it was.
  const cut = await daemon.feed();
  await cut.next();
  cut.close();
  const resumed = await daemon.feed({ fromSeq: cut.cursor });
  t.after(() => resumed.close());
  assert.equal(resumed.hello.resync, false);
  assert.equal((await resumed.next()).seq > cut.cursor, true);

  const body = await daemon.post(daemon.envelope('SendMessage', { message: userMessage('x'.repeat((2 << 20) - 1024)) }),
    { ms: 30_000 });
  assert.equal(body.status, 200);
  await daemon.stop();
});

test('a connection is kept and used again, and ended in an orderly way', async (t) => {
  const { daemon } = await startTls(t);
  const agent = new https.Agent({ keepAlive: true, maxSockets: 1, ...daemon.tls });
  t.after(() => agent.destroy());
  const sockets = new Set();
  for (let i = 0; i < 3; ++i) {
    await within(10_000, 'an answer', new Promise((resolve, reject) => {
      const outgoing = https.get(daemon.url + CARD, { agent }, (incoming) => incoming.resume().once('end', resolve));
      outgoing.once('socket', (socket) => sockets.add(socket)).once('error', reject);
    }));
  }
  assert.equal(sockets.size, 1);

  // s_client says whether it was told of the end (close_notify) before it came.
  const said = await program('openssl',
    ['s_client', '-connect', `127.0.0.1:${portOf(daemon.url)}`, '-quiet', '-msg'],
    `GET ${CARD} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
  assert.match(said.stdout + said.stderr, /<<<.*Alert[^]*close_notify/);
});

test('a reader that stalls is closed and resumes where it was; one that reads on stays', async (t) => {
  const { daemon } = await startTls(t, () => ({ events: { write_timeout: '1s', ring: 100_000 } }));
  const sockets = () => readdirSync(`/proc/${daemon.pid}/fd`).length;
  const before = sockets();
  const steady = await daemon.feed();
  const stuck = await daemon.feed();
  stuck.stream.pause();
  const tasks = [];
  while (tasks.length < 20) tasks.push(await daemon.sendTask(`hello ${'x'.repeat(24 * 1024)}`));
  await steady.untilDone(tasks.at(-1).id);
  daemon.agent.destroy();
  await eventually('one stream is left', () => sockets() === before + 1);
  stuck.stream.resume();
  assert.equal(await stuck.drain(), 'cut');
  assert.ok(stuck.cursor < steady.cursor);
  const resumed = await daemon.feed({ fromSeq: stuck.cursor });
  assert.equal(resumed.hello.resync, false);
  await resumed.untilSeq(steady.cursor);
  for (const feed of [steady, resumed]) feed.close();
});

test('curl and the command line reach it with the CA, and not without', async (t) => {
  const { authority, daemon, folder } = await startTls(t);
  assert.equal((await curl('--cacert', authority.file, daemon.url + CARD)).code, 0);
  assert.equal((await curl(daemon.url + CARD)).code, 60);
  const events = await curl('--cacert', authority.file, '-N', `${daemon.url}/events?follow=false`);
  assert.match(events.stdout, /^data: .*hello/m);

  const send = (words, env) => run(['send', '--json', ...words, 'hello'], { env: { ...daemon.env, ...env } });
  const AGENTD_URL = daemon.url;
  for (const [words, env] of [[['--ca', authority.file], { AGENTD_URL }], [[], { AGENTD_URL, AGENTD_CA: authority.file }]]) {
    const { code, stdout, stderr } = await send(words, env);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /TASK_STATE_COMPLETED/);
  }
  const other = new Authority(folder, 'other');
  for (const env of [{ AGENTD_URL }, { AGENTD_URL, AGENTD_CA: other.file }]) {
    const { code, stderr } = await send([], env);
    assert.equal(code, 3);
    assert.match(stderr, /certificate/);
    assert.equal(/--ca FILE or AGENTD_CA/.test(stderr), env.AGENTD_CA === undefined, stderr);
  }
});

test('TLS 1.2 and 1.3 with http/1.1, and nothing else', async (t) => {
  const { authority, daemon } = await startTls(t);
  const verified = ['-CAfile', authority.file, '-verify_return_error'];
  for (const version of ['-tls1_2', '-tls1_3']) {
    const { code, stdout } = await sClient(daemon.url, version, '-alpn', 'h2,http/1.1', ...verified);
    assert.equal(code, 0, version);
    assert.match(stdout, /ALPN protocol: http\/1\.1/);
  }
  // Clients that would speak the old versions, if only the daemon did.
  for (const version of ['-tls1', '-tls1_1']) {
    const { code, stderr } = await sClient(daemon.url, version, '-cipher', 'ALL:@SECLEVEL=0');
    assert.notEqual(code, 0, version);
    assert.match(stderr, /alert protocol version/);
  }
  const { code, stderr } = await sClient(daemon.url, '-alpn', 'h2');
  assert.notEqual(code, 0);
  assert.match(stderr, /no application protocol/);
  // R on a line of its own asks for a renegotiation.
  const again = await program('openssl', ['s_client', '-connect', `127.0.0.1:${portOf(daemon.url)}`, '-tls1_2'], 'R\n');
  assert.match(again.stdout + again.stderr, /no renegotiation/);
  await stillServes(daemon);
});

// What scanners of TLS look for. openssl is made to offer everything that it still knows, one at a time.
test('all that is agreed on is forward secret and authenticated, whatever is offered', async (t) => {
  const everything = (await program('openssl', ['ciphers', '-s', '-tls1_2', 'ALL:COMPLEMENTOFALL:@SECLEVEL=0'])).stdout;
  const offered = everything.trim().split(':').filter((name) => !name.startsWith('TLS_'));
  assert.ok(offered.includes('AES128-SHA') && offered.includes('ADH-AES128-SHA'), 'weak ones are among them');
  const taken = ['AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'CHACHA20-POLY1305'];
  for (const [kind, key] of [['ECDSA', undefined], ['RSA', newRsaKey]]) {
    const { daemon } = await startTls(t, (authority) => ({ tls: authority.issueServer(kind, key) }));
    const talk = (...args) => sClient(daemon.url, ...args).then(({ stdout, stderr }) => stdout + stderr);
    const agreed = async (...args) => /Cipher is (\S+)/.exec(await talk(...args))?.[1];
    const accepted = [];
    for (const cipher of offered) {
      if (await agreed('-tls1_2', '-cipher', `${cipher}:@SECLEVEL=0`) === cipher) accepted.push(cipher);
    }
    assert.deepEqual(accepted.sort(), taken.map((name) => `ECDHE-${kind}-${name}`));

    for (const suite of ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256']) {
      assert.equal(await agreed('-tls1_3', '-ciphersuites', suite), suite);
    }
    for (const suite of ['TLS_AES_128_CCM_SHA256', 'TLS_AES_128_CCM_8_SHA256']) {
      assert.equal(await agreed('-tls1_3', '-ciphersuites', suite), '(NONE)', suite);
    }
    const weakly = (...args) => talk('-tls1_2', '-cipher', 'ALL:@SECLEVEL=0', ...args);
    assert.match(await weakly('-sigalgs', `${kind}+SHA256`), /Peer signing digest: SHA256/);
    assert.match(await weakly('-sigalgs', `${kind}+SHA1`), /alert handshake failure/);
    assert.match(await weakly('-groups', 'secp192r1:P-224'), /alert handshake failure/);
    const early = await program('openssl',
      ['s_client', '-connect', `127.0.0.1:${portOf(daemon.url)}`, '-tls1_3', '-ign_eof'],
      `GET ${CARD} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    assert.match(early.stdout, /Max Early Data: 0/, 'what is sent before the handshake could be sent again by others');
    assert.match(await talk('-tls1_2'), /Secure Renegotiation IS supported[^]*Compression: NONE/);
    assert.match(await talk('-tls1_2', '-fallback_scsv'), /inappropriate fallback/, 'nobody is talked down from 1.3');
    await stillServes(daemon);
  }
});

test('a client certificate of the CA, or none, comes through; another one does not', async (t) => {
  const options = { env: { OPERATOR_TOKEN: TOKEN } };
  const { authority, daemon, folder } = await startTls(t, (ca, server) => ({
    tls: { ...server, client_ca: ca.file }, bearer: { env: 'OPERATOR_TOKEN' },
  }), options);
  const stranger = new Authority(folder, 'stranger');
  const shown = ({ cert, key }) => ['--cert', cert, '--key', key];
  const card = (...args) => curl('--cacert', authority.file, ...args, daemon.url + CARD);

  for (const version of ['1.2', '1.3']) {
    const ours = ['--tlsv1.2', '--tls-max', version];
    assert.equal((await card(...ours)).code, 0, version);
    assert.equal((await card(...ours, ...shown(authority.issue('alice', { names: 'URI:spiffe://team/alice' })))).code, 0);
    const refused = await card(...ours, ...shown(stranger.issue('mallory')));
    assert.notEqual(refused.code, 0, version);
    assert.match(refused.stderr, /unknown ca/, version);
  }
  assert.equal((await daemon.rpc('ListTasks', {})).status, 401, 'no certificate and no token is nobody');
  assert.equal((await daemon.rpc('ListTasks', {}, { token: TOKEN })).status, 200);
});

test('a client certificate is whom a rule names, and nobody where none does', async (t) => {
  const { authority, daemon } = await startTls(t, ({ file }, server) => ({
    tls: { ...server, client_ca: file },
    principals: [
      { id: 'team', role: 'user', match: { san: 'spiffe://team/*' } },
      { role: 'agent', match: { sub: 'robot' } },
      { id: 'ops', role: 'operator', match: { san: '*.ops.example' } },
    ],
  }));
  const as = (name, names) => {
    const { cert, key } = authority.issue(name, { names });
    return { cert: readFileSync(cert), key: readFileSync(key) };
  };
  const list = async (certificate) => {
    const answer = await request(daemon.url, {
      method: 'POST', headers: daemon.headers(), body: daemon.envelope('ListTasks', {}), tls: { ...daemon.tls, ...certificate },
    });
    return { ...answer, body: answer.json() };
  };
  const send = (certificate) => request(daemon.url, {
    method: 'POST', headers: daemon.headers(), body: daemon.envelope('SendMessage', { message: userMessage('hello') }),
    tls: { ...daemon.tls, ...certificate },
  });
  const [ada, robot, ops] = [as('ada', 'URI:spiffe://team/ada'), as('robot', 'DNS:robot.example'), as('o', 'DNS:a.ops.example')];
  for (const certificate of [ada, robot]) assert.equal((await send(certificate)).status, 200);
  assert.equal((await list(ada)).body.result.tasks.length, 1);
  assert.equal((await list(robot)).body.result.tasks.length, 1);
  assert.equal((await list(ops)).body.result.tasks.length, 2, 'an operator sees both');
  const stranger = as('stranger', 'DNS:stranger.example');
  let status;
  for (let count = 0; count < 30 && status !== 429; ++count) ({ status } = await list(stranger));
  assert.equal(status, 429);
  assert.equal((await list(ada)).status, 200, 'a certificate is not guessed');
});

test('files that are replaced are in use from the next connection on; a bad pair changes nothing', async (t) => {
  const { authority, daemon, server } = await startTls(t);
  const subject = async () => {
    const socket = await connect(daemon);
    const { CN } = socket.getPeerCertificate().subject;
    socket.destroy();
    return CN;
  };
  const feed = await daemon.feed();
  t.after(() => feed.close());
  assert.equal(await subject(), 'server');
  const next = authority.issueServer('next');
  copyFileSync(next.cert, `${server.cert}.new`);
  renameSync(`${server.cert}.new`, server.cert);  // and not its key, yet
  const complaints = () => daemon.log.split('\n').filter((line) => line.includes('cannot be used'));
  await eventually('a line in the log', async () => { assert.equal(await subject(), 'server'); return complaints().length; });
  assert.match(complaints()[0], /this key is not that of the certificate/);
  assert.equal(daemon.log.includes('PRIVATE'), false);

  copyFileSync(next.key, `${server.key}.new`);
  renameSync(`${server.key}.new`, server.key);
  await eventually('the new certificate', async () => await subject() === 'next');
  assert.equal(complaints().length, 1);
  await feed.untilDone((await daemon.sendTask('hello')).id);  // on a connection from before
});

test('what is no handshake is closed, and hurts nobody', async (t) => {
  const { daemon } = await startTls(t);
  const port = portOf(daemon.url);
  const plain = await request(`http://127.0.0.1:${port}/`).then(() => null, (error) => error);
  assert.ok(plain, 'there is no answer in plain HTTP');
  for (const bytes of ['GET / HTTP/1.1\r\nHost: localhost\r\n\r\n', '\x16\x03\x01\xff\xff', '\x16\x03\x01\x00\x04\x01\xff\xff\xff', '']) {
    const socket = net.connect(port, '127.0.0.1');
    const end = closed(socket);
    socket.end(Buffer.from(bytes, 'latin1'));
    await end;
  }
  await stillServes(daemon);
});

test('a handshake that does not end is closed after its time', async (t) => {
  const { daemon } = await startTls(t);
  const sockets = ['', '\x16\x03\x01'].map((bytes) => {
    const socket = net.connect(portOf(daemon.url), '127.0.0.1');
    socket.write(Buffer.from(bytes, 'latin1'));
    return socket;
  });
  // TLS that is through, and no request.
  sockets.push(await connect(daemon));
  await Promise.all(sockets.map(closed));
  await stillServes(daemon);
});

test('http, https and a unix socket are served at once', async (t) => {
  const { authority, daemon } = await startTls(t, (ca, server, folder) => ({
    listen: ['http://127.0.0.1:0', 'https://127.0.0.1:0', `unix://${join(folder, 'a.sock')}`],
  }));
  const line = JSON.parse(daemon.log.split('\n').find((text) => text.includes('"listening"')));
  const [plain, sealed, socket] = line.urls;
  assert.equal(line.url, plain);
  assert.ok(sealed.startsWith('https://127.0.0.1:'));
  const task = await daemon.sendTask('hello');
  const answers = await Promise.all([curl(plain + CARD), curl('--cacert', authority.file, sealed + CARD),
    curl('--unix-socket', socket.slice('unix://'.length), `http://localhost${CARD}`)]);
  const cards = answers.map(({ stdout }) => stdout);
  assert.ok(task && cards.every((card) => card === cards[0] && card.length > 0));
});

test('what stands off loopback without TLS or callers does not start, and says what to set', async (t) => {
  const folder = makeFolder();
  t.after(() => removeFolder(folder));
  const server = new Authority(folder).issueServer();
  const other = new Authority(folder, 'other');
  const file = join(folder, 'agentd.yaml');
  const faults = async (a2a, env) => {
    writeFileSync(file, JSON.stringify({ a2a, store: { kind: 'memory' } }));
    const said = await run(['check', file], { env: { PATH: process.env.PATH, HOME: folder, ...env } });
    assert.equal(said.code, 2);
    assert.equal((await run(['serve', '-c', file], { env: { PATH: process.env.PATH, HOME: folder, ...env } })).code, 2);
    return said.stderr;
  };
  assert.match(await faults({ listen: 'http://0.0.0.0:0' }), /agentd\.yaml:1:\d+: a2a\.listen: .*a2a\.tls.*a2a\.insecure/);
  assert.match(await faults({ listen: 'https://0.0.0.0:0', tls: server }), /a2a\.bearer, a2a\.principals or a2a\.tls\.client_ca/);
  assert.match(await faults({ listen: 'https://127.0.0.1:0' }), /a2a\.tls\.cert/);
  const local = { listen: 'https://127.0.0.1:0' };
  assert.match(await faults({ ...local, tls: { ...server, key: other.key } }), /a2a\.tls: .*other\.key: this key is not that/);
  assert.match(await faults({ ...local, tls: { ...server, cert: '/nowhere.pem' } }), /\/nowhere\.pem: cannot be read: No such/);
  assert.match(await faults({ ...local, tls: { ...server, cert: file } }), /agentd\.yaml: holds no certificate/);
  assert.match(await faults({ ...local, tls: { ...server, client_ca: file } }), /agentd\.yaml: holds no certificate of a client CA/);
  const locked = join(folder, 'locked.key');
  await program('openssl', ['ec', '-in', server.key, '-aes256', '-passout', 'pass:x', '-out', locked]);
  assert.match(await faults({ ...local, tls: { ...server, key: locked } }), /locked\.key: holds no private key/);
});

test('a2a.insecure serves http off loopback, and warns', async (t) => {
  const daemon = await startDaemon(t, {
    config: { a2a: { listen: 'http://0.0.0.0:0', insecure: true, bearer: { env: 'OPERATOR_TOKEN' } } },
    env: { OPERATOR_TOKEN: TOKEN },
  });
  daemon.url = daemon.url.replace('0.0.0.0', '127.0.0.1');
  assert.match(daemon.log, /"level":"warn".*a2a\.insecure is set/);
  assert.equal((await daemon.rpc('ListTasks', {})).status, 401, 'not the operator for being near');
  assert.equal((await daemon.rpc('ListTasks', {}, { token: TOKEN })).status, 200);
});

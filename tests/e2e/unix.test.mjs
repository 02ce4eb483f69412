// Unix sockets as listeners: whose they are, what is there before and after, and the surface over one.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, lstatSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { isTerminal } from './contract.mjs';
import { Daemon, request, userMessage, users } from './harness.mjs';
import { environment, makeFolder, removeFolder, run, within } from './processes.mjs';

const curl = (...args) => promisify(execFile)('curl', ['-sS', '--max-time', '10', ...args]);

// A daemon whose addresses are made by `listen(path of its socket)`.
async function startAt(t, listen = (path) => `unix://${path}`, options = {}) {
  const folder = makeFolder();
  t.after(() => removeFolder(folder));
  const path = join(folder, 'agentd.sock');
  const daemon = new Daemon({ ...options, config: { ...options.config, a2a: { ...options.config?.a2a, listen: listen(path) } } });
  t.after(() => daemon.dispose());
  await daemon.start();
  return { daemon, path };
}

const over = (socketPath, path, options = {}) => request(`http://localhost${path}`, { ...options, from: { socketPath } });

const rpc = async (path, daemon, method, params, options) => (await over(path, '/', {
  method: 'POST', headers: daemon.headers(options), body: daemon.envelope(method, params),
})).json();

test('unix_socket_mode: a socket is for its user alone, and gone with the daemon', async (t) => {
  const { daemon, path } = await startAt(t);
  assert.ok(lstatSync(path).isSocket());
  assert.equal(lstatSync(path).mode & 0o7777, 0o600);
  assert.equal(daemon.url, `unix://${path}`);

  const card = (await over(path, '/.well-known/agent-card.json')).json();
  assert.equal(card.supportedInterfaces[0].url, 'http://localhost/');
  const { result } = await rpc(path, daemon, 'SendMessage', { message: userMessage('hello') });
  assert.ok(isTerminal(result.task));

  await daemon.stop();
  assert.equal(existsSync(path), false);
});

test('a unix peer is the operator, where tokens are configured too', async (t) => {
  const { tokens, options } = users(['alice']);
  const { daemon, path } = await startAt(t, (at) => ['http://127.0.0.1:0', `unix://${at}`], options);
  const hers = await daemon.sendTask('hello', { token: tokens.alice });
  assert.equal((await rpc(path, daemon, 'GetTask', { id: hers.id })).result.id, hers.id);
  assert.equal((await daemon.rpc('GetTask', { id: hers.id })).status, 401);
  // The card names what a client elsewhere can use.
  assert.equal((await over(path, '/.well-known/agent-card.json')).json().supportedInterfaces[0].url, `${daemon.url}/`);
});

test('a socket that kill -9 left is replaced; one in use, or another file, is an error', async (t) => {
  const { daemon, path } = await startAt(t);
  await daemon.restart({ kill: true });
  assert.equal((await rpc(path, daemon, 'ListTasks', {})).error, undefined);

  const refused = async (at) => {
    const folder = makeFolder();
    t.after(() => removeFolder(folder));
    const file = join(folder, 'agentd.yaml');
    writeFileSync(file, JSON.stringify({ a2a: { listen: `unix://${at}` }, store: { kind: 'memory' } }));
    const { code, stderr } = await run(['serve', '-c', file], { env: environment(folder), cwd: folder });
    assert.equal(code, 1);
    assert.ok(stderr.includes(at), stderr);
    return stderr;
  };
  assert.match(await refused(path), /in use/);
  assert.equal((await rpc(path, daemon, 'ListTasks', {})).error, undefined);

  const file = join(daemon.folder, 'precious');
  writeFileSync(file, 'precious');
  assert.match(await refused(file), /no socket/);
  assert.ok(lstatSync(file).isFile());
});

test('the command line and curl talk to a socket', async (t) => {
  const { daemon, path } = await startAt(t);
  const env = { ...daemon.env, AGENTD_URL: `unix://${path}` };
  const { code, stdout, stderr } = await run(['send', '--json', 'hello'], { env });
  assert.equal(code, 0, stderr);
  assert.match(stdout, /TASK_STATE_COMPLETED/);
  const card = await curl('--unix-socket', path, 'http://localhost/.well-known/agent-card.json');
  assert.equal(JSON.parse(card.stdout).name, 'tested');
});

test('bytes that are no HTTP, and a peer that goes at once, hurt nobody', async (t) => {
  const { daemon, path } = await startAt(t);
  for (const bytes of ['\0\x01\x02\r\n\r\n', '']) {
    const socket = net.connect(path);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => {}).resume();
    socket.end(bytes);
    await within(10_000, 'the end of the connection', closed);
  }
  assert.equal((await rpc(path, daemon, 'ListTasks', {})).error, undefined);
});

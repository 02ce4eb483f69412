// Launch (access.md section 4): codes over the control socket, the sessions that come of them, and the commands that need no login.
import assert from 'node:assert/strict';
import { existsSync, lstatSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';

import { request, startDaemon, users } from './harness.mjs';
import { LAUNCH, askToLaunch, codeOf, controlSocket, exchange, portOf } from './launch.mjs';
import { environment, run } from './processes.mjs';
import { said, signIn } from './sign_in.mjs';

const mode = (path) => lstatSync(path).mode & 0o7777;

const withBearer = (t, config) => startDaemon(t, users([], config).options);
const withSignIn = (t, config) => withBearer(t, { ...signIn(), ...config });

// Commands of the daemon's own user, who never signed in.
function beside(daemon) {
  const env = () => environment(daemon.folder, { AGENTD_URL: daemon.url });
  const file = join(daemon.folder, '.config/agentd/credentials.json');
  return {
    file,
    kept: () => (existsSync(file) ? JSON.parse(readFileSync(file, 'utf8'))[daemon.url] : undefined),
    run: (...args) => run(args, { env: env() }),
    async ok(...args) {
      const { code, stdout, stderr } = await run(args, { env: env() });
      assert.equal(code, 0, `agentd ${args.join(' ')}: ${stderr}`);
      return stdout;
    },
  };
}

// It keeps its port from now on.
async function restartInPlace(daemon, how) {
  daemon.config.a2a.listen = daemon.url;
  await daemon.restart(how);
}

const launches = async (daemon, token) => {
  const feed = await daemon.feed({ token, fromSeq: 1 });
  const { id } = await daemon.sendTask('hello', { token });
  await feed.untilDone(id);
  feed.close();
  return feed.of('auth').filter(({ data }) => data.event === 'launch').length;
};

const refusedGrant = async (answer) => {
  const { status, headers, json } = await answer;
  assert.deepEqual([status, json().error, headers['cache-control']], [400, 'invalid_grant', 'no-store']);
};

test('the control socket is for its user alone, named nowhere, and gone with the daemon', async (t) => {
  const daemon = await withBearer(t);
  const path = controlSocket(daemon);
  assert.ok(lstatSync(path).isSocket());
  assert.deepEqual([mode(path), mode(dirname(path))], [0o600, 0o700]);
  const card = (await request(`${daemon.url}/.well-known/agent-card.json`)).text;
  assert.ok(!card.includes('.sock') && !daemon.log.includes('.sock'));
  await daemon.stop();
  assert.equal(existsSync(path), false);
});

test('a daemon without a place for a control socket warns once and serves', async (t) => {
  const daemon = await startDaemon(t, { env: { XDG_RUNTIME_DIR: `/tmp/${'x'.repeat(100)}` } });
  const warnings = daemon.program.lines(daemon.log).map((line) => JSON.parse(line)).filter(({ level }) => level.startsWith('warn'));
  assert.equal(warnings.length, 1, daemon.log);
  assert.match(warnings[0].msg, /control socket/);
  await daemon.sendTask('hello');
});

for (const [name, start] of [['with a bearer', withBearer], ['with device sign-in', withSignIn]]) {
  test(`launch_code_is_good_once: ${name}`, async (t) => {
    const daemon = await start(t);
    const answer = await askToLaunch(daemon);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.headers['cache-control'], 'no-store');
    const { code, expires_in } = answer.json();
    assert.match(code, /^[0-9a-f]{64}$/);
    assert.equal(expires_in, 60);
    const granted = (await exchange(daemon, code)).json();
    assert.match(granted.access_token, /^agentd_at_[0-9a-f]{64}$/);
    assert.deepEqual([granted.token_type, granted.expires_in, granted.scope], ['Bearer', 8 * 3600, 'operator']);
    await refusedGrant(exchange(daemon, code));

    const token = granted.access_token;
    const feed = await daemon.feed({ token, fromSeq: 1 });
    const { data } = await feed.until('the launch', ({ kind }) => kind === 'auth');
    assert.match(data.sid, /^ls_[0-9a-f]{16}$/);
    assert.deepEqual(data, { event: 'launch', client_id: 'test', scope: 'operator', sid: data.sid, peer: '127.0.0.1' });
    await request(`${daemon.url}/oauth2/revoke`, {
      method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: `token=${token}`,
    });
    await feed.drain();
    assert.equal(feed.goodbye.reason, 'revoked');
    assert.equal((await daemon.rpc('ListTasks', {}, { token })).status, 401);
  });
}

test('any presentation of a launch code burns it', async (t) => {
  const daemon = await withBearer(t);
  const port = portOf(daemon);
  const present = (code, { host = `127.0.0.1:${port}`, client = 'test' } = {}) => request(`${daemon.url}/oauth2/token`, {
    method: 'POST', headers: { host, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ grant_type: LAUNCH, launch_code: code, client_id: client }).toString(),
  });
  for (const wrong of [{ client: 'other' }, { host: `localhost:${port}` }, { host: '127.0.0.1' }]) {
    const code = await codeOf(daemon);
    await refusedGrant(present(code, wrong));
    await refusedGrant(present(code));
  }
  const code = await codeOf(daemon, { origin: `http://localhost:${port}` });
  assert.equal((await present(code, { host: `localhost:${port}` })).status, 200);
});

test('launch is for who comes over a unix socket, for an origin of this daemon', async (t) => {
  const daemon = await withBearer(t);
  const port = portOf(daemon);
  for (const origin of ['', 'http://127.0.0.1:1', `https://127.0.0.1:${port}`, `http://192.0.2.1:${port}`, `http://[::1]:${port}`]) {
    const refused = await askToLaunch(daemon, { origin });
    assert.deepEqual([refused.status, refused.json().error], [400, 'invalid_request'], origin);
  }
  assert.equal((await askToLaunch(daemon, { client_id: 'a b' })).json().error, 'invalid_request');
  const tcp = await request(`${daemon.url}/oauth2/launch`, { method: 'POST', body: '' });
  const unknown = await request(`${daemon.url}/oauth2/nothing`, { method: 'POST', body: '' });
  assert.deepEqual([tcp.status, tcp.text], [404, unknown.text]);
});

test('who needs no launch gets none', async (t) => {
  const open = await startDaemon(t);
  assert.equal((await askToLaunch(open)).status, 204);
  assert.equal((await askToLaunch(open, { token: 'agentd_at_nonsense' })).status, 200);
  const daemon = await withBearer(t);
  const { access_token: token } = (await exchange(daemon, await codeOf(daemon))).json();
  assert.equal((await askToLaunch(daemon, { token })).status, 204);
  assert.equal((await askToLaunch(daemon, { token: `${token}0` })).status, 200);
});

test('launch_session_survives_restart', async (t) => {
  const daemon = await withBearer(t);
  const { access_token: token } = (await exchange(daemon, await codeOf(daemon))).json();
  await daemon.restart({ kill: true });
  assert.equal((await daemon.rpc('ListTasks', {}, { token })).status, 200);
  assert.equal((await askToLaunch(daemon)).status, 200);
});

test('a launch session is among the sessions, as what it is', async (t) => {
  const daemon = await withSignIn(t);
  const { access_token: token } = (await exchange(daemon, await codeOf(daemon))).json();
  const { sessions: [session] } = await said(daemon, 'auth.sessions', {}, { token });
  assert.deepEqual([session.kind, session.principal, session.role, session.client_id, session.approved_by, session.name],
    ['launch', 'operator', 'operator', 'test', 'operator', undefined]);
});

for (const [name, start] of [['with a bearer', withBearer], ['with device sign-in', withSignIn]]) {
  test(`commands beside the daemon need no login, and share a session: ${name}`, async (t) => {
    const daemon = await start(t);
    const here = beside(daemon);
    assert.match(await here.ok('tasks'), /no tasks/);
    const { access_token: token, launch } = here.kept();
    assert.equal(launch, true);
    assert.equal(mode(here.file), 0o600);
    for (const args of [['send', '--no-wait', 'hello'], ['tasks', '--json']]) await here.ok(...args);
    assert.equal(here.kept().access_token, token);
    assert.equal(await launches(daemon, token), 1);

    await restartInPlace(daemon, { kill: true });
    await here.ok('tasks');
    assert.equal(here.kept().access_token, token, 'a restart keeps it');
    assert.equal((await here.run('logout')).code, 0);
    assert.equal(here.kept(), undefined);
    assert.equal((await daemon.rpc('ListTasks', {}, { token })).status, 401);
    await here.ok('tasks');
    assert.notEqual(here.kept().access_token, token);
  });
}

test('sessions beside the daemon are listed as launches', async (t) => {
  const here = beside(await withSignIn(t));
  assert.match(await here.ok('sessions'), /^ls_[0-9a-f]{16} +operator +operator +launch +agentd-cli /m);
});

test('a daemon that has forgotten the session is launched again', async (t) => {
  const daemon = await withBearer(t, { store: { kind: 'memory' } });
  const here = beside(daemon);
  await here.ok('tasks');
  const { access_token: first } = here.kept();
  await restartInPlace(daemon);
  await here.ok('tasks');
  assert.notEqual(here.kept().access_token, first);
});

test('where every program of the machine is the operator, nothing is launched', async (t) => {
  const here = beside(await startDaemon(t));
  await here.ok('tasks');
  assert.equal(existsSync(here.file), false);
});

test('a daemon that was killed leaves a socket, and no command waits for it', async (t) => {
  const daemon = await withBearer(t);
  const here = beside(daemon);
  await here.ok('tasks');
  await daemon.kill9();
  assert.ok(lstatSync(controlSocket(daemon)).isSocket());
  assert.equal((await here.run('tasks')).code, 3);
});

// Device sign-in as people do it: one asks for a code on the command line, an operator approves it on another.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';

import { Authority } from './certificates.mjs';
import { startDaemon, users } from './harness.mjs';
import { Program, environment, eventually, makeFolder, removeFolder, run } from './processes.mjs';
import { done, stockClient } from './sign_in.mjs';

// The daemon asks to be polled every 5 s, so the tests mostly wait: they do it together.
const LOGIN_MS = 20_000;

const jsonLines = (text) => text.split('\n').filter(Boolean).map((line) => JSON.parse(line));
const mode = (path) => statSync(path).mode & 0o7777;

// A daemon of the test's own, for it takes few sign-ins of one source, and its operator's command line. `authority`: it is
// served over TLS, with a certificate of this CA.
async function startWithSignIn(t, grant = {}, authority = undefined) {
  const sealed = authority && { listen: 'https://127.0.0.1:0', tls: authority.issueServer() };
  const { tokens, options } = users([], { a2a: { device_grant: { enabled: true, ...grant }, ...sealed } });
  const daemon = await startDaemon(t, { ...options, tls: { ca: authority?.pem } });
  const operator = async (...args) => {
    const env = environment(daemon.folder, {
      AGENTD_URL: daemon.url, AGENTD_TOKEN: tokens.operator, ...(authority && { AGENTD_CA: authority.file }),
    });
    const ended = await run(args, { env });
    return { ...ended, said: ended.stdout + ended.stderr };
  };
  const sessions = async () => jsonLines((await operator('sessions', '--json')).stdout);
  return { daemon, tokens, operator, sessions };
}

// Somebody with a home folder and no token.
function somebody(t, daemon) {
  const home = makeFolder();
  t.after(() => removeFolder(home));
  const env = (extra) => environment(home, { AGENTD_URL: daemon.url, ...extra });
  const file = join(home, '.config/agentd/credentials.json');
  return {
    file,
    run: (args, extra) => run(args, { env: env(extra) }),
    start(...args) {
      const program = new Program(args, { env: env() });
      t.after(() => program.end('SIGKILL'));
      return program;
    },
    // Starts a login; gives it with the code that it shows.
    async login(...args) {
      const login = this.start('login', ...args);
      const code = await eventually(`a code; stderr:\n${login.stderr}`, () => {
        if (!login.alive) throw new Error(`login ended: ${login.stderr}`);
        return /^ {4}([A-Z]{4}-[A-Z]{4})$.*^agentd: waiting/ms.exec(login.stderr)?.[1];
      });
      return { login, code, ended: () => eventually('the end of login', () => !login.alive, LOGIN_MS).then(() => login.exited) };
    },
    token: () => JSON.parse(readFileSync(file, 'utf8'))[daemon.url]?.access_token,
  };
}

async function signIn(t, { daemon, operator }, name, { login: loginArgs = [], approve = [] } = {}) {
  const person = somebody(t, daemon);
  const { login, code, ended } = await person.login(...loginArgs);
  const approved = await operator('devices', 'approve', code, '--as', name, ...approve);
  assert.equal(approved.code, 0, approved.said);
  assert.deepEqual(await ended(), { code: 0, signal: null }, login.stderr);
  return { person, login, code, approved };
}

describe('device sign-in', { concurrency: true }, () => {
  test('a code that an operator approves signs in, until the session is revoked', async (t) => {
    const own = await startWithSignIn(t);
    const { daemon, operator, sessions } = own;
    const person = somebody(t, daemon);
    assert.equal((await person.run(['tasks'])).code, 4, 'nobody is let in without');

    const { login, code, ended } = await person.login();
    assert.match(login.stderr, /\/oauth2\/device/);
    assert.ok(login.stderr.includes(`agentd devices approve ${code} --as NAME`), login.stderr);
    const [waiting] = jsonLines((await operator('devices', '--json')).stdout);
    assert.deepEqual([waiting.user_code, waiting.client_id, waiting.scope], [code, 'agentd-cli', 'user']);
    assert.match((await operator('devices')).stdout, new RegExp(`^${code} +agentd-cli +user +\\S+ +in \\d+`, 'm'));

    const typed = code.toLowerCase().replace('-', '');
    const approved = await operator('devices', 'approve', typed, '--as', 'alice');
    assert.equal(approved.code, 0, approved.said);
    assert.match(approved.stdout, new RegExp(`^${code} is approved as user:alice with scope user, for agentd-cli at `));
    assert.deepEqual(await ended(), { code: 0, signal: null }, login.stderr);
    assert.match((await operator('devices')).stdout, /^no sign-in waits$/m);

    assert.match(person.token(), /^agentd_at_[0-9a-f]{64}$/);
    assert.ok(!(login.stdout + login.stderr + daemon.log).includes(person.token()));
    assert.deepEqual([mode(person.file), mode(join(person.file, '..'))], [0o600, 0o700]);

    assert.equal((await person.run(['send', 'hello'])).code, 0);
    const tasks = await person.run(['tasks', '--json']);
    assert.equal(jsonLines(tasks.stdout).length, 1, tasks.stderr);
    assert.equal((await person.run(['sessions'])).code, 4, 'that is for operators');
    assert.equal((await person.run(['tasks'], { AGENTD_TOKEN: 'wrong' })).code, 4, 'a given token goes first');

    const [session, ...others] = await sessions();
    assert.deepEqual(others, []);
    assert.match(session.sid, /^ds_[0-9a-f]{16}$/);
    assert.deepEqual([session.kind, session.principal, session.role, session.name, session.client_id],
      ['device', 'user:alice', 'user', 'alice', 'agentd-cli']);
    assert.match((await operator('sessions')).stdout, new RegExp(`^${session.sid} +alice +user +device +agentd-cli `, 'm'));

    const events = person.start('events');
    await eventually('a feed', () => events.stderr.includes('connected to'));
    const revoked = await operator('sessions', 'revoke', session.sid);
    assert.deepEqual([revoked.code, revoked.stdout], [0, '1 session revoked\n'], revoked.stderr);
    assert.equal((await events.exited).code, 4, 'what is open is closed');
    const signedOut = new RegExp(`signed out: run agentd login --url ${daemon.url}`);
    assert.match(events.stderr, signedOut);
    const after = await person.run(['tasks']);
    assert.equal(after.code, 4);
    assert.match(after.stderr, signedOut);
    assert.deepEqual(await sessions(), []);
    assert.equal((await operator('sessions', 'revoke', session.sid)).code, 1, 'there is none any more');
  });

  test('over TLS, a stock client and the command line sign in when they know the CA', async (t) => {
    const folder = makeFolder();
    t.after(() => removeFolder(folder));
    const authority = new Authority(folder);
    const own = await startWithSignIn(t, {}, authority);
    const { daemon, operator, tokens, sessions } = own;
    const person = somebody(t, daemon);
    const unknown = await person.run(['login']);
    assert.equal(unknown.code, 3, unknown.stderr);
    assert.match(unknown.stderr, /certificate.*--ca FILE or AGENTD_CA/s);

    const ca = ['--ca', authority.file];
    const { login, code, ended } = await person.login(...ca);
    assert.ok(login.stderr.includes(`${daemon.url}/oauth2/device`), login.stderr);
    const approved = await operator('devices', 'approve', code, '--as', 'alice');
    assert.equal(approved.code, 0, approved.said);
    assert.deepEqual(await ended(), { code: 0, signal: null }, login.stderr);
    assert.equal((await person.run(['send', ...ca, 'hello'])).code, 0);
    assert.equal((await person.run(['tasks'])).code, 3, 'the CA is not kept');

    const client = await stockClient(daemon);
    const begun = await client.ask('user');
    assert.equal(begun.verification_uri, `${daemon.url}/oauth2/device`);
    await done(daemon, 'auth.device.approve', { user_code: begun.user_code, as: 'bob' }, { token: tokens.operator });
    const { access_token: token } = await client.token(begun);
    assert.deepEqual(await daemon.allTasks({}, { token }), [], "bob sees nothing of alice's");
    assert.deepEqual((await sessions()).map(({ name, client_id: id }) => [name, id]),
      [['alice', 'agentd-cli'], ['bob', 'stock']]);

    await client.giveUp(token);
    assert.equal((await daemon.rpc('ListTasks', {}, { token })).status, 401);
    assert.equal((await person.run(['logout', ...ca])).code, 0);
    assert.deepEqual(await sessions(), []);
  });

  test('logout ends the session and forgets the token, also of a daemon that is gone', async (t) => {
    const own = await startWithSignIn(t);
    const { daemon, sessions } = own;
    const [{ person }, { person: second, approved }] = await Promise.all([
      signIn(t, own, 'alice'), signIn(t, own, 'alice')]);
    const token = person.token();
    assert.ok(token !== second.token() && (await sessions()).length === 2, 'two sessions of one name');
    assert.ok(approved.stdout.includes('user:alice'));

    const out = await person.run(['logout']);
    assert.deepEqual([out.code, person.token()], [0, undefined], out.stderr);
    assert.equal((await daemon.rpc('ListTasks', {}, { token })).status, 401);
    assert.equal((await sessions()).length, 1);
    assert.match((await person.run(['logout'])).stderr, /not signed in/);

    daemon.config.a2a.listen = daemon.url;
    await daemon.restart();
    assert.equal((await second.run(['tasks'])).code, 0, 'a restart keeps a session');
    await daemon.stop();
    const gone = await second.run(['logout']);
    assert.deepEqual([gone.code, second.token()], [3, undefined], gone.stderr);
    assert.match(gone.stderr, /is forgotten here, but its session goes on/);
  });

  test('a sign-in that is denied, or given up, leaves nothing', async (t) => {
    const { daemon, operator } = await startWithSignIn(t);
    const people = [somebody(t, daemon), somebody(t, daemon), somebody(t, daemon)];
    const first = await people[0].login('--client-id', 'laptop');
    const second = await people[1].login();
    const third = await people[2].login();
    const codes = jsonLines((await operator('devices', '--json')).stdout).map((one) => one.user_code);
    assert.deepEqual(codes, [first.code, second.code, third.code], 'oldest first');
    assert.equal((await third.login.end('SIGINT')).code, 130);

    const one = await operator('devices', 'deny', first.code);
    assert.deepEqual([one.code, one.stdout], [0, '1 sign-in denied\n'], one.said);
    const again = await operator('devices', 'deny', first.code);
    assert.equal(again.code, 1, again.said);
    const all = await operator('devices', 'deny', '--all', '--json');
    assert.deepEqual([all.code, JSON.parse(all.stdout)], [0, { denied: 2 }], all.said);
    for (const { login, ended } of [first, second]) {
      assert.equal((await ended()).code, 4, login.stderr);
      assert.match(login.stderr, /the sign-in was denied/);
    }
    assert.ok(people.every(({ file }) => !existsSync(file)));
    const late = await operator('devices', 'approve', first.code, '--as', 'alice');
    assert.equal(late.code, 1, late.said);
  });

  test('an operator signs in where that is allowed, and an approval narrows but never widens', async (t) => {
    const own = await startWithSignIn(t, { scopes: ['user', 'operator'] });
    const { daemon, operator, sessions } = own;
    const [{ person }, { person: narrowed }] = await Promise.all([
      signIn(t, own, 'olga', { login: ['--scope', 'operator'] }),
      signIn(t, own, 'una', { login: ['--scope', 'operator'], approve: ['--scope', 'user'] })]);
    assert.equal((await person.run(['sessions'])).code, 0);
    assert.equal((await narrowed.run(['sessions'])).code, 4);
    assert.deepEqual((await sessions()).map(({ role }) => role).sort(), ['operator', 'user']);

    const { login, code } = await somebody(t, daemon).login();
    assert.equal((await operator('devices', 'approve', code, '--as', 'alice', '--scope', 'operator')).code, 1);
    await login.end('SIGINT');
    const all = await operator('sessions', 'revoke', '--all');
    assert.deepEqual([all.code, all.stdout], [0, '2 sessions revoked\n'], all.said);
    assert.equal((await person.run(['tasks'])).code, 4);
  });

  test('a file of tokens that others may read is refused, with the way out', async (t) => {
    const own = await startWithSignIn(t);
    const { person } = await signIn(t, own, 'alice');
    chmodSync(person.file, 0o644);
    for (const args of [['tasks'], ['login'], ['logout'], ['send', 'hello'], ['events']]) {
      const refused = await person.run(args);
      assert.equal(refused.code, 2, args.join(' '));
      assert.ok(refused.stderr.includes(`chmod 600 ${person.file}`), refused.stderr);
      assert.ok(!refused.stderr.includes(person.token()));
    }
    chmodSync(person.file, 0o600);
    assert.equal((await person.run(['tasks'])).code, 0);
  });

  test('where it is off, login and devices say what turns it on', async (t) => {
    const { tokens, options } = users([]);
    const daemon = await startDaemon(t, options);
    const person = somebody(t, daemon);
    const off = [await person.run(['login']), await person.run(['devices'], { AGENTD_TOKEN: tokens.operator })];
    for (const { code, stderr } of off) {
      assert.equal(code, 1, stderr);
      assert.match(stderr, /a2a\.device_grant\.enabled/);
    }
  });
});

// The commands of the binary, as a person or a script runs them.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { Daemon, startDaemon, twoUsers } from './harness.mjs';
import { Program, environment, eventually, makeFolder, removeFolder, repository, run } from './processes.mjs';
import { makeAjv } from './schemas.mjs';
import { workflows } from './workflows.mjs';

const daemon = await startDaemon(undefined, { config: { workflows: [workflows.pair, workflows.broken] } });

function folderOf(t) {
  const folder = makeFolder();
  t.after(() => removeFolder(folder));
  return folder;
}

// Runs a client command against the daemon, or another one of that address.
const client = (args, { url = daemon.url, token, input, ms } = {}) => {
  const env = environment(daemon.folder, { AGENTD_URL: url, ...(token ? { AGENTD_TOKEN: token } : {}) });
  return run(args, { env, input, ms });
};

const jsonLines = (text) => text.split('\n').filter(Boolean).map((line) => JSON.parse(line));
const hasCommands = (text) => ['serve', 'check', 'send', 'tasks', 'events', 'demo'].every((name) => text.includes(name));

test('--version and --help say what they should and exit with 0', async () => {
  const version = await run(['--version']);
  assert.deepEqual([version.code, version.stderr], [0, '']);
  assert.match(version.stdout, /\d+\.\d+\.\d+/);
  const help = await run(['--help']);
  assert.equal(help.code, 0);
  assert.ok(hasCommands(help.stdout), help.stdout);
});

test('a command line that is wrong is told in a line on stderr, with exit code 2', async () => {
  for (const args of [['--no-such-option'], ['no-such-command'], ['serve', '--no-such-option'],
    ['events', '--kinds', 'nothing'], ['send'], ['tasks', '--state', 'asleep'], ['--extension-schema', 'nothing'],
    ['serve', '-c', '/no/such/file.yaml']]) {
    const { code, stdout, stderr } = await client(args);
    assert.deepEqual([code, stdout], [2, ''], args.join(' '));
    assert.ok(stderr.length > 0 && !stderr.includes('terminate called'), stderr);
  }
});

test('--config-schema prints a JSON Schema that takes the configurations of these tests', async () => {
  const { code, stdout } = await run(['--config-schema']);
  assert.equal(code, 0);
  const isConfig = makeAjv().compile(JSON.parse(stdout));
  const work = {
    agent: {
      model: { provider: 'openai', model: 'm', temperature: 0.5,
        endpoints: ['https://one.example/v1', { url: 'http://127.0.0.1:1', api_key: { env: 'K' } }] },
      budget: { usd_per_day: 0.5 }, prices: [{ model: 'm', input: 1, output: 2.5 }], files: ['AGENTS.md'],
    },
    mcp: { servers: { one: { command: 'x', args: ['', '-y'], env: { A: 'a', B: { env: 'B' } } },
      two: { url: 'https://two.example/mcp?x=1', headers: { 'X-A': { file: 'a' } }, tools: ['*'] } } },
    a2a: { peers: [{ name: 'p', url: 'https://p.example' }] },
  };
  for (const config of [daemon.config, { ...daemon.config, ...twoUsers().options.config }, work]) {
    assert.ok(isConfig(config), JSON.stringify(isConfig.errors));
  }
  for (const wrong of [{ agnet: {} }, { a2a: { events: { ring: 'big' } } }, { a2a: { bearer: 'literal' } },
    { agent: { model: { endpoints: [5] } } }, { agent: { model: { endpoints: ['one.example'] } } },
    { agent: { prices: [{ model: 'm' }] } }, { mcp: { servers: { One: { command: 'x' } } } },
    { mcp: { servers: { one: { command: 'x', env: { A: 1 } } } } }]) {
    assert.equal(isConfig(wrong), false, JSON.stringify(wrong));
  }
});

// Every key of the configuration's schema: {path, value: its schema}; of an item, "list[].key".
function* keys(schema, path = '') {
  for (const [name, value] of Object.entries(schema.properties ?? {})) {
    const at = path ? `${path}.${name}` : name;
    if (!value.properties) yield { path: at, value };
    yield* keys(value, at);
    yield* keys(value.items ?? value.additionalProperties ?? {}, `${at}[]`);
  }
}

test('docs/configuration.md has every key, with its default', async () => {
  const text = readFileSync(join(repository, 'docs/configuration.md'), 'utf8');
  const rows = new Map([...text.matchAll(/^\| `([^`]+)` \| (?:.*?) \| (.*?) \|/gm)].map(([, key, value]) => [key, value]));
  const quoted = [...text.matchAll(/`([^`\n]+)`/g)].map(([, inside]) => inside);
  for (const { path, value } of keys(JSON.parse((await run(['--config-schema'])).stdout))) {
    if (path.includes('[]')) {
      const name = path.split('[].').at(-1);
      assert.ok(quoted.some((inside) => inside.split(/[^\w.]+/).includes(name)), path);
    } else {
      assert.ok(rows.has(path) || text.includes(`\n### ${path}\n`) || quoted.includes(path), path);
      if ('default' in value) assert.equal(rows.get(path), `\`${value.default}\``, path);
    }
  }
});

test('check names every fault with its file and line', async (t) => {
  const file = join(folderOf(t), 'agentd.yaml');
  writeFileSync(file, ['agent:', '  name: x', 'a2a:', '  events: {rng: 5}', 'log:', '  level: deafening', ''].join('\n'));
  const { code, stdout, stderr } = await run(['check', file]);
  assert.equal(code, 2);
  const said = stdout + stderr;
  assert.match(said, /agentd\.yaml:4\b.*rng/);
  assert.match(said, /agentd\.yaml:6\b/);
  assert.match(said, /ring/, 'the right spelling');
  const served = await run(['serve', '-c', file]);
  assert.equal(served.code, 2);
  assert.match(served.stderr, /agentd\.yaml:4\b/);
  assert.equal((await run(['check', '-c', daemon.configFile], { env: daemon.env, cwd: daemon.folder })).code, 0);
});

test('send prints the answer, and its exit code says how it ended', async () => {
  const hello = await client(['send', 'hello', 'there']);
  assert.equal(hello.code, 0, hello.stderr);
  assert.match(hello.stdout, /Hello\./);
  const direct = await client(['send', 'direct']);
  assert.match(direct.stdout, /No task is needed/);
  const fromStdin = await client(['send', '-'], { input: 'hello from stdin' });
  assert.match(fromStdin.stdout, /Hello\./);
  const report = await client(['send', '--workflow', 'pair', '--input', 'who=Ada']);
  assert.equal(report.code, 0, report.stderr);
  assert.match(report.stdout, /for Ada again/);
  const broken = await client(['send', '--workflow', 'broken']);
  assert.equal(broken.code, 5);
  assert.match(broken.stderr + broken.stdout, /boom/);
  const lines = jsonLines((await client(['send', '--json', 'hello'])).stdout);
  assert.ok(lines.length > 0);
});

test('send goes on with a task that asked', async () => {
  const { task } = await daemon.send('ask');
  const answered = await client(['send', '--task', task.id, 'blue']);
  assert.equal(answered.code, 0, answered.stderr);
  assert.match(answered.stdout, /Blue it is/);
});

test('tasks lists, shows and cancels', async () => {
  const done = await daemon.sendTask('hello');
  const working = await daemon.sendTask('forever', { configuration: { returnImmediately: true } });
  const list = await client(['tasks']);
  assert.equal(list.code, 0, list.stderr);
  assert.match(list.stdout, /WORKING|working/);
  const ids = jsonLines((await client(['tasks', '--json'])).stdout).map(({ id }) => id);
  assert.ok(ids.includes(done.id) && ids.includes(working.id));
  const only = jsonLines((await client(['tasks', '--json', '--state', 'working'])).stdout);
  assert.deepEqual(only.map(({ id }) => id), [working.id]);
  const shown = await client(['tasks', 'show', done.id]);
  assert.match(shown.stdout, /Hello to you\./);
  assert.equal((await client(['tasks', 'cancel', working.id])).code, 0);
  await daemon.taskIn(working.id, 'CANCELED', { ms: 2_000 });
  assert.equal((await client(['tasks', 'show', 'no-such-task'])).code, 1);
});

test('no daemon is exit code 3, a daemon that refuses is 4', async (t) => {
  const gone = await startDaemon(t);
  await gone.stop();
  const unreachable = await client(['tasks'], { url: gone.url });
  assert.equal(unreachable.code, 3);
  assert.ok(unreachable.stderr.includes(new URL(gone.url).host), unreachable.stderr);
  const { tokens, options } = twoUsers();
  const closed = await startDaemon(t, options);
  assert.equal((await client(['tasks'], { url: closed.url })).code, 4);
  assert.equal((await client(['tasks'], { url: closed.url, token: 'wrong' })).code, 4);
  assert.equal((await client(['tasks'], { url: closed.url, token: tokens.alice })).code, 0);
});

test('events follows over a restart of the daemon and ends well on Ctrl-C', async (t) => {
  const own = await startDaemon(t);
  own.config.a2a.listen = own.url;  // the same port again
  const events = new Program(['events', '--json'], { env: environment(own.folder, { AGENTD_URL: own.url }) });
  t.after(() => events.end('SIGKILL'));
  const followed = async () => {
    const { id } = await own.sendTask('hello');
    await eventually(`the end of ${id} in the output; stderr:\n${events.stderr}`, () => events.stdout.split('\n')
      .some((line) => line.includes(id) && line.includes('TASK_STATE_COMPLETED')), 20_000);
    return id;
  };
  await followed();
  await own.restart();
  const second = await followed();
  await own.restart({ kill: true });
  await followed();
  const ends = jsonLines(events.stdout.slice(0, events.stdout.lastIndexOf('\n'))).map(({ event }) => event)
    .filter((event) => event?.kind === 'task' && event.data.task.id === second
      && event.data.task.status.state === 'TASK_STATE_COMPLETED');
  assert.equal(new Set(ends.map(({ seq }) => seq)).size, ends.length, 'no event twice');
  assert.equal((await events.end('SIGINT')).code, 0);
});

// Starts a second daemon that cannot run; gives what it said.
async function refusedStart(t, prepare) {
  const second = new Daemon();
  t.after(() => second.dispose());
  prepare(second);
  writeFileSync(second.configFile, JSON.stringify(second.config));
  const { code, stderr } = await run(['serve', '-c', second.configFile], { env: second.env, cwd: second.folder });
  assert.ok(code === 1 || code === 2, `exit code ${code}`);
  assert.doesNotMatch(stderr, /terminate called|AGENTD_CHECK/);
  return stderr;
}

test('a port or store in use, or a folder that cannot be written, ends the start with a clear line', async (t) => {
  const { port } = new URL(daemon.url);
  const taken = await refusedStart(t, (second) => { second.config.a2a.listen = daemon.url; });
  assert.match(taken, new RegExp(`${port}.*in use|in use.*${port}`, 'i'));
  const store = await refusedStart(t, (second) => { second.config.store = { path: daemon.stateFolder }; });
  assert.ok(store.includes(daemon.stateFolder), store);
  const file = await refusedStart(t, (second) => { second.config.store = { path: join(second.configFile, 'below') }; });
  assert.match(file, /agentd\.yaml\/below/);
  assert.ok((await daemon.sendTask('hello')).id, 'the first one notices nothing');
});

function gitRepository(t) {
  const folder = folderOf(t);
  const git = (...args) => execFileSync('git', ['-C', folder, '-c', 'user.name=Grace Hopper',
    '-c', 'user.email=grace@example.com', ...args], { stdio: 'pipe' });
  git('init', '-q');
  for (const name of ['first.txt', 'second.txt']) {
    writeFileSync(join(folder, name), `${name}\n`);
    git('add', '.');
    git('commit', '-q', '-m', `Add ${name}`);
  }
  return folder;
}

// Runs the demo with a temporary folder of its own, in which it must leave nothing.
async function demo(t, args) {
  const home = folderOf(t);
  const scratch = join(home, 'tmp');
  mkdirSync(scratch);
  const ended = await run(['demo', ...args], { env: environment(home, { TMPDIR: scratch }), ms: 30_000 });
  assert.deepEqual(readdirSync(scratch), [], 'it leaves nothing behind');
  return ended;
}

test('demo reports on a git repository, and shows what happens meanwhile', async (t) => {
  const repository = gitRepository(t);
  const { code, stdout, stderr } = await demo(t, [repository]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /Grace Hopper/);
  assert.match(stdout, /step|run/);
  const machine = await demo(t, [repository, '--json']);
  assert.equal(machine.code, 0, machine.stderr);
  const lines = jsonLines(machine.stdout);
  assert.ok(lines.some(({ event }) => event?.kind === 'run') && JSON.stringify(lines).includes('Grace Hopper'));
});

test('demo says so when the folder is no git repository', async (t) => {
  const { stdout, stderr } = await demo(t, [folderOf(t)]);
  assert.match(stdout + stderr, /git/);
});

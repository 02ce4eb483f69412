// The real daemon in a folder of its own, talked to over real HTTP.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { join } from 'node:path';
import { after } from 'node:test';

import { COMMAND, EVENTS, SUBSCRIBE } from './contract.mjs';
import { Feed } from './feed_reader.mjs';
import { Program, environment, eventually, isAlive, makeFolder, processOf, removeFolder, within } from './processes.mjs';
import { standardRules } from './rules.mjs';
import { SseStream } from './sse.mjs';

// ---- HTTP

// {status, headers, text, json()}; resolves with an early answer even when the body could not all be written.
// `tls`: what https is told: {ca, cert, key}. `from`: how the connection is made: {localAddress}, {socketPath}.
// `held`: the body is announced by the headers and never sent, also when it is asked for: status 100.
export function request(url, {
  method = 'GET', headers = {}, body, agent = false, ms = 15_000, tls = {}, from = {}, held = false,
} = {}) {
  let outgoing;
  return within(ms, `${method} ${url}`, new Promise((resolve, reject) => {
    const { request: open } = url.startsWith('https:') ? https : http;
    outgoing = open(url, { method, headers, agent, ...tls, ...from }, (incoming) => {
      let text = '';
      incoming.setEncoding('utf8').on('data', (piece) => { text += piece; });
      incoming.once('error', reject);
      incoming.once('end', () => resolve({
        status: incoming.statusCode, headers: incoming.headers, text, json: () => JSON.parse(text),
      }));
    });
    outgoing.once('error', (error) => { if (!outgoing.res) reject(error); });
    if (!held) return outgoing.end(body);
    outgoing.once('continue', () => resolve({ status: 100, headers: {}, text: '' })).flushHeaders();
  })).finally(() => { if (held) outgoing.destroy(); });
}

const deepMerge = (base, over) => {
  const plain = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);
  if (!plain(base) || !plain(over)) return over === undefined ? base : over;
  return Object.fromEntries([...new Set([...Object.keys(base), ...Object.keys(over)])]
    .map((key) => [key, deepMerge(base[key], over[key])]));
};

export class Daemon {
  // options: config (merged over the test's defaults), rules (of the scripted model), env, args (of `serve`), tls
  // (what https is told, see request()).
  constructor({ config = {}, rules = standardRules, env = {}, args = [], tls = {} } = {}) {
    this.tls = tls;
    this.args = args;
    this.folder = makeFolder();
    this.env = environment(this.folder, env);
    mkdirSync(this.env.XDG_STATE_HOME);
    this.configFile = join(this.folder, 'agentd.yaml');
    this.config = deepMerge({
      agent: { name: 'tested', model: { provider: 'scripted', script: 'rules.yaml' } },
      a2a: { listen: 'http://127.0.0.1:0' },
      log: { format: 'json' },
    }, config);
    if (this.config.agent.model.provider !== 'scripted') delete this.config.agent.model.script;
    writeFileSync(join(this.folder, 'rules.yaml'), JSON.stringify({ rules }));
    this.logs = '';  // stderr of the lives that ended
    this.nextId = 1;
  }

  get stateFolder() { return join(this.env.XDG_STATE_HOME, 'agentd'); }
  get log() { return this.logs + (this.program?.stderr ?? ''); }
  get pid() { return this.program.pid; }

  async start() {
    writeFileSync(this.configFile, JSON.stringify(this.config));
    this.program = new Program(['serve', '-c', this.configFile, ...this.args], { env: this.env, cwd: this.folder });
    const listening = () => {
      if (!this.program.alive) throw new Error(`agentd ended at once; stderr:\n${this.program.stderr}`);
      const line = this.program.lines(this.program.stderr).find((text) => text.includes('"listening"'));
      return line && JSON.parse(line);
    };
    this.url = (await eventually('a "listening" line', listening)).url;
    this.agent = new (this.url.startsWith('https:') ? https : http).Agent({ keepAlive: true });
    return this;
  }

  async stop() {
    const { code, signal } = await this.#ended('SIGTERM');
    assert.deepEqual({ code, signal }, { code: 0, signal: null }, `exit of agentd; stderr:\n${this.log}`);
  }

  async kill9() { await this.#ended('SIGKILL'); }

  async restart({ kill = false } = {}) {
    await (kill ? this.kill9() : this.stop());
    return this.start();
  }

  async #ended(signal) {
    const ended = await this.program.end(signal);
    this.agent.destroy();
    this.logs += this.program.stderr;
    this.program.stderr = '';
    return ended;
  }

  async dispose() {
    if (this.program?.alive) await this.program.end('SIGKILL');
    this.agent?.destroy();
    removeFolder(this.folder);
  }

  headers({ headers = {}, extensions = [], token, version = '1.0' } = {}) {
    return {
      'content-type': 'application/json',
      ...(version === null ? {} : { 'a2a-version': version }),
      ...(extensions.length ? { 'a2a-extensions': extensions.join(', ') } : {}),
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...headers,
    };
  }

  envelope(method, params, { id = this.nextId++ } = {}) {
    return JSON.stringify({ jsonrpc: '2.0', id, method, params });
  }

  // A POST to the JSON-RPC endpoint with whatever body: {status, headers, text, json(), body}.
  async post(body, options = {}) {
    const answer = await request(this.url, {
      method: 'POST', headers: this.headers(options), body, agent: this.agent, ms: options.ms, tls: this.tls,
    });
    try { answer.body = answer.json(); } catch { answer.body = undefined; }
    return answer;
  }

  // The whole answer, with `result` and `error` of the envelope beside it.
  async rpc(method, params, options = {}) {
    const answer = await this.post(this.envelope(method, params, options), options);
    return { ...answer, result: answer.body?.result, error: answer.body?.error };
  }

  // The result; an error fails the test.
  async call(method, params, options) {
    const { status, text, result, error } = await this.rpc(method, params, options);
    assert.ok(status === 200 && error === undefined && result !== undefined, `${method}: HTTP ${status} ${text}`);
    return result;
  }

  send(text, { message = {}, configuration, ...options } = {}) {
    return this.call('SendMessage', { message: userMessage(text, message), configuration }, options);
  }

  async sendTask(text, options) {
    const { task } = await this.send(text, options);
    assert.ok(task, 'a task, not a direct message');
    return task;
  }

  getTask(id, options) { return this.call('GetTask', { id }, options); }

  // Every task that the caller may see, page by page.
  async allTasks(params = {}, options = {}) {
    const tasks = [];
    for (let pageToken = ''; pageToken !== undefined;) {
      const page = await this.call('ListTasks', { pageSize: 100, ...params, ...(pageToken && { pageToken }) }, options);
      tasks.push(...page.tasks);
      pageToken = page.nextPageToken || undefined;
    }
    return tasks;
  }

  // The task once its state is one of those asked for (without the prefix).
  taskIn(id, states, options = {}) {
    return eventually(`task ${id} in ${states}`, async () => {
      const task = await this.getTask(id, options);
      return [states].flat().some((state) => task.status.state === `TASK_STATE_${state}`) && task;
    }, options.ms);
  }

  // A command of the command extension; `rpc` or `call` is the way it is sent.
  command(op, args = {}, { via = 'call', configuration, ...options } = {}) {
    const params = { message: commandMessage(op, args), configuration };
    return this[via]('SendMessage', params, { extensions: [COMMAND], ...options });
  }

  // A stream of a task, or any SSE answer of the endpoint.
  stream(method, params, options = {}) {
    return SseStream.open(this.url, {
      method: 'POST', headers: this.headers(options), tls: this.tls, ...options.reader,
      body: options.body ?? this.envelope(method, params, options),
    });
  }

  // The events feed, past its hello.
  async feed({ fromSeq, extensions = [], ...options } = {}) {
    const params = fromSeq === undefined ? undefined : { fromSeq };
    return Feed.over(await this.stream(SUBSCRIBE, params, { extensions: [EVENTS, ...extensions], ...options }));
  }

  // GET /events: the same feed without the envelope.
  async curl(query = '', { headers = {}, token } = {}) {
    const auth = token ? { authorization: `Bearer ${token}` } : {};
    return SseStream.open(`${this.url}/events${query}`, { headers: { ...auth, ...headers }, tls: this.tls });
  }
}

// A daemon for one test (`t`), or for the whole file when there is none.
export async function startDaemon(t, options) {
  const daemon = new Daemon(options);
  (t?.after.bind(t) ?? after)(() => daemon.dispose());
  return daemon.start();
}

// The living processes whose ids the daemon's workflows wrote to the file `pids`.
export function recordedProcesses(daemon) {
  const file = join(daemon.folder, 'pids');
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8').split('\n').filter(Boolean).map(Number).map(processOf)
    .filter((found) => found && isAlive(found));
}

export const twoProcesses = (daemon) => eventually('two processes of a step', () => {
  const processes = recordedProcesses(daemon);
  return processes.length === 2 && processes;
});

// ---- messages

export const userMessage = (text, over = {}) => ({
  messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...over,
});

export const commandMessage = (op, args = {}, over = {}) => ({
  messageId: randomUUID(), role: 'ROLE_USER', extensions: [COMMAND],
  parts: [{ data: { agentd: { op, ...args } } }], ...over,
});

// ---- principals

// Users with a token each, and an operator with one: {tokens: {name: token}, options of the daemon}.
export function users(names, config = {}) {
  const tokens = Object.fromEntries(['operator', ...names].map((name) => [name, randomUUID()]));
  const variable = (name) => `${name.toUpperCase()}_TOKEN`;
  const rule = (id) => ({ id, role: 'user', match: { bearer_ref: { env: variable(id) } } });
  return {
    tokens,
    options: {
      env: Object.fromEntries(Object.entries(tokens).map(([name, token]) => [variable(name), token])),
      config: deepMerge({ a2a: { bearer: { env: 'OPERATOR_TOKEN' }, principals: names.map(rule) } }, config),
    },
  };
}

export const twoUsers = (config) => users(['alice', 'bob'], config);

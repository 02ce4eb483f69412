// Processes and folders of a test: started here, ended by their pid, removed when the test ends, however it ends.
// Every wait has a deadline.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const repository = fileURLToPath(new URL('../../', import.meta.url));
export const binary = process.env.AGENTD_BIN ?? join(repository, 'build/release/agentd');

// Calls `probe` until it gives something truthy, which is returned.
export async function eventually(what, probe, ms = 10_000) {
  const end = Date.now() + ms;
  for (;;) {
    const value = await probe();
    if (value) return value;
    if (Date.now() > end) throw new Error(`not within ${ms} ms: ${what}`);
    await delay(10);
  }
}

export function within(ms, what, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${ms} ms: ${what}`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// A small seeded generator (mulberry32), so that a failing run can be repeated.
export function seeded(seed = Number(process.env.AGENTD_E2E_SEED ?? 1)) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
}

// ---- processes

// With the start time, so that a pid used again is not taken for the process that had it.
export function processOf(pid) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '').split(' ');
    return { pid, parent: Number(fields[1]), state: fields[0], started: fields[19] };
  } catch {
    return null;
  }
}

export function isAlive(process_) {
  const now = processOf(process_.pid);
  return now !== null && now.started === process_.started && !'ZX'.includes(now.state);
}

export function descendants(pid) {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map((name) => processOf(Number(name)))
    .filter(Boolean);
  const found = [];
  const visit = (parent) => all.filter((p) => p.parent === parent).forEach((p) => { found.push(p); visit(p.pid); });
  visit(pid);
  return found;
}

export const allGone = (processes, ms = 2_000) => eventually(
  `processes ${processes.map((p) => p.pid)} gone`, () => !processes.some(isAlive), ms);

export function residentBytes(pid) {
  return 1024 * Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]);
}

// Of memory. A sanitizer keeps what was freed, so `make asan` and `make tsan` do not ask.
export function assertBelow(amount, most, what) {
  if (process.env.AGENTD_E2E_MEMORY !== 'ignore') assert.ok(amount < most, `${amount} ${what}`);
}

const running = new Set();
const folders = new Set();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

export function makeFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'agentd-e2e-'));
  folders.add(folder);
  return folder;
}

export function removeFolder(folder) {
  rmSync(folder, { recursive: true, force: true });
  folders.delete(folder);
}

// The environment of a daemon or a command: nothing of the developer's own but the path, and how a sanitizer reports.
const sanitizers = Object.fromEntries(Object.entries(process.env).filter(([name]) => /^(A|L|T|UB)SAN_/.test(name)));
export const environment = (home, extra = {}) => ({
  PATH: process.env.PATH, HOME: home, XDG_STATE_HOME: join(home, 'state'), XDG_RUNTIME_DIR: join(home, 'run'),
  LANG: 'C.UTF-8', ...sanitizers, ...extra,
});

// One program, started; `exited` gives {code, signal}. Output is collected as text.
export class Program {
  constructor(args, { env, cwd } = {}) {
    this.child = spawn(binary, args, { env, cwd, stdio: ['pipe', 'pipe', 'pipe'] });
    running.add(this.child);
    this.stdout = '';
    this.stderr = '';
    this.child.stdout.setEncoding('utf8').on('data', (text) => { this.stdout += text; });
    this.child.stderr.setEncoding('utf8').on('data', (text) => { this.stderr += text; });
    this.exited = new Promise((resolve, reject) => {
      this.child.once('error', reject);
      this.child.once('close', (code, signal) => resolve({ code, signal }));
    }).finally(() => running.delete(this.child));
    this.exited.catch(() => {});
  }

  get pid() { return this.child.pid; }
  get alive() { return running.has(this.child); }

  lines(text = this.stdout) { return text.split('\n').filter(Boolean); }

  async end(signal, ms = 5_000) {
    if (this.alive) this.child.kill(signal);
    return within(ms, `exit after ${signal}; stderr:\n${this.stderr}`, this.exited);
  }
}

// Runs the binary to its end: {code, stdout, stderr}.
export async function run(args, { env = environment(tmpdir()), cwd, input, ms = 10_000 } = {}) {
  const program = new Program(args, { env, cwd });
  program.child.stdin.on('error', () => {}).end(input);
  try {
    const { code } = await within(ms, `agentd ${args.join(' ')}; stderr:\n${program.stderr}`, program.exited);
    return { code, stdout: program.stdout, stderr: program.stderr };
  } finally {
    if (program.alive) await program.end('SIGKILL');
  }
}

// The feed behind a reverse proxy: nginx as Debian ships it, told nothing but where the daemon is.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';

import { EVENTS, SUBSCRIBE } from './contract.mjs';
import { Feed } from './feed_reader.mjs';
import { request, startDaemon } from './harness.mjs';
import { eventually, makeFolder, removeFolder, repository } from './processes.mjs';
import { SseStream } from './sse.mjs';

const path = `${join(repository, 'build/nginx/usr/sbin')}:${process.env.PATH}:/usr/sbin`;

// What is outside of `location` keeps it to its folder and to one process; nothing there touches the proxying.
const configuration = (port, upstream) => `
daemon off; master_process off; pid nginx.pid; error_log stderr;
events {}
http {
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy;
  fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass ${upstream};
    }
  }
}
`;

function freePort() {
  return new Promise((resolve, reject) => {
    const server = net.createServer().once('error', reject).listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

// The URL of an nginx before the daemon. It cannot take port 0, and one that was free may be taken by now: tried again.
async function startNginx(t, upstream) {
  const folder = makeFolder();
  t.after(() => removeFolder(folder));
  for (let tries = 0; tries < 5; ++tries) {
    const port = await freePort();
    writeFileSync(join(folder, 'nginx.conf'), configuration(port, upstream));
    const child = spawn('nginx', ['-e', 'stderr', '-p', folder, '-c', 'nginx.conf'],
      { env: { PATH: path }, stdio: ['ignore', 'ignore', 'pipe'] });
    t.after(() => child.kill('SIGKILL'));
    let log = '';
    child.stderr.setEncoding('utf8').on('data', (text) => { log += text; });
    let over = null;
    child.once('error', (error) => { over = `${error.message}; scripts/setup.sh test installs it`; });
    child.once('close', () => { over ??= log; });
    const url = `http://127.0.0.1:${port}`;
    const answers = () => request(`${url}/.well-known/agent-card.json`)
      .then(({ status, headers }) => status === 200 && /^nginx/.test(headers.server), () => false);
    await eventually(`nginx on ${url}`, async () => over !== null || answers());
    if (over === null) return url;
    assert.match(over, /Address already in use/);
  }
  throw new Error('no free port for nginx');
}

test('feed_through_default_nginx', async (t) => {
  const daemon = await startDaemon(t);
  const proxy = await startNginx(t, daemon.url);
  const feed = await Feed.over(await SseStream.open(proxy, {
    method: 'POST', headers: daemon.headers({ extensions: [EVENTS] }), body: daemon.envelope(SUBSCRIBE, {}),
  }));
  const bare = await SseStream.open(`${proxy}/events`);
  assert.match((await bare.next()).data, /^\{"hello":/);
  const { id } = await daemon.sendTask('hello');
  await feed.untilDone(id);
  await bare.when('the same task', () => bare.queue.some(({ data }) => data.includes(id)));
  assert.deepEqual([feed.stream.ended, bare.ended], [null, null], 'it came while the streams are open');
  feed.close();
  bare.destroy();
});

test('a goodbye comes through nginx, and so does the Origin that is refused', async (t) => {
  const daemon = await startDaemon(t, { config: { a2a: { events: { deadline: '1s' } } } });
  const proxy = await startNginx(t, daemon.url);
  const stream = await SseStream.open(`${proxy}/events`);
  await stream.end();
  assert.equal(JSON.parse(stream.queue.at(-1).data).goodbye.reason, 'deadline');
  assert.equal((await request(`${proxy}/events`, { headers: { origin: proxy } })).status, 403);
});

// Signing the daemon in to an MCP server that wants OAuth: a task waits in AUTH_REQUIRED with a URL until a browser has been there
// (a2a.md, MCP authorization of 2025-11-25), over an authorization server and an MCP server of the test's own.
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { chatting, say, textOf } from './chat.mjs';
import { GATE } from './contract.mjs';
import { request, startDaemon, users } from './harness.mjs';
import { ModelServer } from './model_server.mjs';
import { eventually } from './processes.mjs';

// Both in one: a protected resource at /mcp, and the authorization server that it names at /as.
class Protected {
  static async start(options = {}) {
    const server = new Protected();
    Object.assign(server, { options, clients: new Map(), codes: new Map(), tokens: new Set(), refreshes: new Set(), asked: [] });
    server.http = http.createServer((incoming, answer) => {
      let body = '';
      incoming.setEncoding('utf8').on('data', (piece) => { body += piece; }).on('end', () => server.#serve(incoming, body, answer));
    });
    await new Promise((resolve) => { server.http.listen(0, '127.0.0.1', resolve); });
    server.url = `http://127.0.0.1:${server.http.address().port}`;
    return server;
  }

  async stop() {
    const closed = new Promise((resolve) => { this.http.close(resolve); });
    this.http.closeAllConnections();
    await closed;
  }

  get #metadata() {
    const at = (path) => `${this.url}${path}`;
    return {
      '/.well-known/oauth-protected-resource/mcp': { resource: at('/mcp'), authorization_servers: [at('/as')], scopes_supported: ['add'] },
      '/.well-known/oauth-authorization-server/as': {
        issuer: at('/as'), authorization_endpoint: at('/as/authorize'), token_endpoint: at('/as/token'),
        registration_endpoint: at('/as/register'), code_challenge_methods_supported: ['S256'],
        authorization_response_iss_parameter_supported: true, ...this.options.metadata,
      },
    };
  }

  #serve({ method, url, headers }, body, answer) {
    const { pathname, searchParams } = new URL(url, this.url);
    const json = (status, value, more = {}) => answer.writeHead(status, { 'content-type': 'application/json', ...more }).end(JSON.stringify(value));
    this.asked.push(`${method} ${pathname}`);
    if (this.#metadata[pathname]) return json(200, this.#metadata[pathname]);
    if (pathname === '/as/register') {
      const client = { ...JSON.parse(body), client_id: randomUUID() };
      this.clients.set(client.client_id, client);
      return json(201, client);
    }
    if (pathname === '/as/authorize') return this.#authorize(searchParams, answer);
    if (pathname === '/as/token') return this.#token(new URLSearchParams(body), headers, json);
    if (pathname !== '/mcp') return json(404, {});
    const token = headers.authorization?.replace(/^Bearer /, '');
    if (!this.tokens.has(token)) {
      const where = `${this.url}/.well-known/oauth-protected-resource/mcp`;
      return json(401, {}, { 'www-authenticate': `Bearer resource_metadata="${where}", scope="add subtract"` });
    }
    return method === 'POST' ? this.#mcp(JSON.parse(body), json, answer) : json(405, {});
  }

  #authorize(query, answer) {
    const client = this.clients.get(query.get('client_id'));
    const back = new URL(client.redirect_uris[0]);
    assert.equal(query.get('redirect_uri'), client.redirect_uris[0]);
    assert.equal(query.get('response_type'), 'code');
    assert.equal(query.get('resource'), `${this.url}/mcp`);
    assert.equal(query.get('scope'), 'add subtract');
    back.searchParams.set('state', query.get('state'));
    back.searchParams.set('iss', this.options.iss ?? `${this.url}/as`);
    if (this.options.denies) {
      back.searchParams.set('error', 'access_denied');
    } else {
      const code = randomUUID();
      this.codes.set(code, query.get('code_challenge'));
      back.searchParams.set('code', code);
    }
    answer.writeHead(302, { location: back.href }).end();
  }

  #token(form, headers, json) {
    assert.equal(form.get('resource'), `${this.url}/mcp`);
    if (form.get('grant_type') === 'client_credentials') {
      const shown = `Basic ${Buffer.from(this.options.credentials.join(':')).toString('base64')}`;
      if (headers.authorization !== shown) return json(401, { error: 'invalid_client' });
    } else if (form.get('grant_type') === 'refresh_token') {
      if (!this.refreshes.delete(form.get('refresh_token'))) return json(400, { error: 'invalid_grant' });
    } else {
      const challenge = this.codes.get(form.get('code'));
      this.codes.delete(form.get('code'));
      const shown = createHash('sha256').update(form.get('code_verifier')).digest('base64url');
      if (challenge !== shown) return json(400, { error: 'invalid_grant' });
    }
    const [token, refresh] = [`at-${randomUUID()}`, `rt-${randomUUID()}`];
    this.tokens.add(token);
    this.refreshes.add(refresh);
    this.given = [...(this.given ?? []), token, refresh];
    return json(200, { access_token: token, token_type: 'Bearer', expires_in: 3600, refresh_token: refresh });
  }

  #mcp({ id, method, params }, json, answer) {
    const result = {
      initialize: () => ({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'sums', version: '1' } }),
      'tools/list': () => ({ tools: [{ name: 'add', inputSchema: { type: 'object' } }] }),
      'tools/call': () => ({ content: [{ type: 'text', text: `${params.arguments.a + params.arguments.b}` }] }),
    }[method];
    return id === undefined ? answer.writeHead(202).end() : json(200, { jsonrpc: '2.0', id, result: result() });
  }
}

const call = (name, args) => ({ toolCalls: [{ name, arguments: args }] });
const model = await ModelServer.start([
  { match: { userMessage: 'sum up', toolName: 'sums__add', hasToolResult: false }, response: call('sums__add', { a: 40, b: 2 }) },
  { match: { userMessage: 'sum up', toolName: 'sums__add', predicate: ({ messages }) => /^Signed in/.test(messages.at(-1).content) },
    response: call('sums__add', { a: 40, b: 2 }) },
  { match: { userMessage: 'sum up', hasToolResult: false }, response: call('sums__sign_in', {}) },
  { match: { userMessage: 'sum up', hasToolResult: true }, response: { content: 'That is it.' } },
]);
after(() => model.stop());
const lastResult = () => model.requests.at(-1).body.messages.at(-1).content;

// A daemon with that server, which has refused it.
async function startRefused(t, server, more = {}, others = {}) {
  const daemon = await startDaemon(t, chatting(model, { approval: 'accept' }, {
    ...more, config: { ...more.config, mcp: { servers: { sums: { url: `${server.url}/mcp` }, ...others } } },
  }));
  await eventually('the refusal', () => daemon.log.includes('an MCP server wants a person to sign in'));
  return daemon;
}

async function startProtected(t, options) {
  const server = await Protected.start(options);
  t.after(() => server.stop());
  return server;
}

// As a browser does: to the authorization server, and where that sends it.
async function visit(url) {
  const { headers } = await request(url);
  return { back: headers.location, page: await request(headers.location) };
}

test('AUTH_REQUIRED: the task waits with a URL; when somebody has been there the tools are, in the next life too', async (t) => {
  const server = await startProtected(t);
  const daemon = await startRefused(t, server);
  const feed = await daemon.feed();
  const waiting = await daemon.sendTask('sum up');
  assert.equal(waiting.status.state, 'TASK_STATE_AUTH_REQUIRED');
  const gate = waiting.status.message.metadata[GATE];
  assert.equal(gate.kind, 'sign_in');
  assert.equal(gate.server, 'sums');
  assert.equal(waiting.status.message.parts[0].text, `Sign in to sums: ${gate.url}`);
  const { back, page } = await visit(gate.url);
  assert.match(page.text, /Thank you/);
  const done = await daemon.taskIn(waiting.id, 'COMPLETED');
  assert.equal(textOf(done), 'That is it.');
  assert.equal(lastResult(), '42');
  // What was good once is good no more.
  assert.equal((await request(back)).status, 403);
  await feed.untilDone(waiting.id);
  assert.ok(feed.of('task', ({ task: { id, status } }) => id === waiting.id && status.state === 'TASK_STATE_AUTH_REQUIRED').length > 0);
  feed.close();

  await daemon.restart({ kill: true });
  assert.equal(textOf(await daemon.sendTask('sum up')), 'That is it.');
  assert.equal(lastResult(), '42');
  // It has expired, and is renewed without anybody.
  server.tokens.clear();
  assert.equal(textOf(await daemon.sendTask('sum up')), 'That is it.');
  assert.equal(lastResult(), '42');
  assert.equal(server.asked.filter((line) => line === 'GET /as/authorize').length, 1);
  // Neither can be renewed: a person is asked again.
  server.tokens.clear();
  server.refreshes.clear();
  assert.equal(textOf(await daemon.sendTask('sum up')), 'That is it.');
  assert.match(lastResult(), /wants somebody to sign in/);
  const shown = JSON.stringify([await daemon.allTasks(), (await daemon.command('status')).message, daemon.log]);
  for (const secret of server.given) assert.ok(!shown.includes(secret), secret);
});

test('kill9 while it waits: the question is asked anew', async (t) => {
  const server = await startProtected(t);
  const daemon = await startRefused(t, server);
  const { id, status } = await daemon.sendTask('sum up');
  await daemon.restart({ kill: true });
  const again = await eventually('another question', async () => {
    const task = await daemon.getTask(id);
    const { url } = task.status.message?.metadata?.[GATE] ?? {};
    return url && url !== status.message.metadata[GATE].url && task;
  });
  assert.equal(again.status.state, 'TASK_STATE_AUTH_REQUIRED');
  const { headers } = await request(status.message.metadata[GATE].url);
  const { search } = new URL(headers.location);  // the daemon is at another port now
  assert.equal((await request(`${daemon.url}/oauth2/callback${search}`)).status, 403);
  await visit(again.status.message.metadata[GATE].url);
  assert.equal(textOf(await daemon.taskIn(id, 'COMPLETED')), 'That is it.');
  assert.equal(lastResult(), '42');
});

test('a sign-in that is denied, given up, or answered by somebody else is told to the model', async (t) => {
  const server = await startProtected(t);
  const daemon = await startRefused(t, server);
  const asked = async () => {
    const task = await daemon.sendTask('sum up');
    return { task, url: task.status.message.metadata[GATE].url };
  };
  const ended = async ({ id }) => {
    assert.equal(textOf(await daemon.taskIn(id, 'COMPLETED')), 'That is it.');
    return lastResult();
  };
  const denied = await asked();
  server.options.denies = true;
  await visit(denied.url);
  assert.match(await ended(denied.task), /^Error: The sign-in failed: .*access_denied/);
  server.options.denies = false;

  const mixed = await asked();
  server.options.iss = 'https://evil.example';
  await visit(mixed.url);
  assert.match(await ended(mixed.task), /^Error: The sign-in failed: .*another authorization server/);
  delete server.options.iss;

  const given_up = await asked();
  const odd = await say(daemon, given_up.task, [{ text: 'later' }]);
  assert.equal(odd.error.code, -32602);
  assert.equal((await daemon.getTask(given_up.task.id)).status.state, 'TASK_STATE_AUTH_REQUIRED');
  await say(daemon, given_up.task, [{ text: 'cancel' }]);
  assert.equal(await ended(given_up.task), 'Error: Nobody signed in.');

  const wrong = await asked();
  const guess = await request(`${daemon.url}/oauth2/callback?code=x&state=${'0'.repeat(64)}`);
  assert.equal(guess.status, 403);
  assert.equal((await daemon.getTask(wrong.task.id)).status.state, 'TASK_STATE_AUTH_REQUIRED');
  assert.equal(server.given, undefined);
});

test('a server that is taken out of the configuration while it is signed in to is waited for no more', async (t) => {
  const server = await startProtected(t);
  const others = { another: { url: `${server.url}/none` } };
  const daemon = await startRefused(t, server, {}, others);
  const { id, status } = await daemon.sendTask('sum up');
  assert.equal(status.state, 'TASK_STATE_AUTH_REQUIRED');
  writeFileSync(daemon.configFile, JSON.stringify({ ...daemon.config, mcp: { servers: others } }));
  await daemon.taskIn(id, 'COMPLETED');
  assert.match(lastResult(), /^Error: The MCP server was taken out/);
});

test('client credentials need nobody, and the secret stays where the configuration has it', async (t) => {
  const credentials = ['agentd', 'canary-9b1f4c3a7d'];
  const server = await startProtected(t, { credentials });
  const config = { mcp: { servers: { sums: {
    url: `${server.url}/mcp`, oauth: { grant: 'client_credentials', client_id: 'agentd', client_secret: { env: 'SUMS_SECRET' } },
  } } } };
  const daemon = await startDaemon(t, chatting(model, { approval: 'accept' }, { config, env: { SUMS_SECRET: credentials[1] } }));
  await daemon.sendTask('sum up');
  assert.equal(lastResult(), '42');
  server.tokens.clear();
  await daemon.restart();
  await daemon.sendTask('sum up');
  assert.equal(lastResult(), '42');
  await daemon.stop();
  const kept = readFileSync(join(daemon.stateFolder, 'agentd.db'), 'latin1');
  assert.ok(kept.includes(server.given.at(-1)), 'the tokens are kept');
  assert.ok(!(kept + daemon.log).includes(credentials[1]));
});

test('only the operator may sign the daemon in', async (t) => {
  const server = await startProtected(t);
  const { tokens, options } = users(['alice']);
  const daemon = await startRefused(t, server, options);
  await daemon.sendTask('sum up', { token: tokens.alice });
  assert.match(lastResult(), /^Error: Only the operator/);
  const task = await daemon.sendTask('sum up', { token: tokens.operator });
  assert.equal(task.status.state, 'TASK_STATE_AUTH_REQUIRED');
});

test('an authorization server without PKCE, or of another name, is not gone to', async (t) => {
  for (const [metadata, why] of [
    [{ code_challenge_methods_supported: ['plain'] }, /PKCE/], [{ issuer: 'https://evil.example' }, /another issuer/],
    [{ token_endpoint: 'http://evil.example/token' }, /no https URL/], [{ registration_endpoint: undefined }, /oauth\.client_id/],
  ]) {
    const server = await startProtected(t, { metadata });
    const daemon = await startRefused(t, server);
    await daemon.sendTask('sum up');
    assert.match(lastResult(), /^Error: Nobody can sign in to sums: /);
    assert.match(lastResult(), why);
  }
});

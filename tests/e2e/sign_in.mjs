// Device sign-in as a program does it (access.md section 4), and the ops with which an operator answers.
import assert from 'node:assert/strict';
import * as oauth from 'oauth4webapi';

import { request } from './harness.mjs';

export const GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

// The configuration of a daemon that has it.
export const signIn = (more = {}) => (
  { a2a: { device_grant: { enabled: true, scopes: ['user', 'operator'], ...more } } });

export const form = (daemon, path, fields) => request(daemon.url + path, {
  method: 'POST', tls: daemon.tls, headers: { 'content-type': 'application/x-www-form-urlencoded' },
  body: typeof fields === 'string' ? fields : new URLSearchParams(fields).toString(),
});

export async function ask(daemon, fields = {}) {
  const answer = await form(daemon, '/oauth2/device_authorization', { client_id: 'test', ...fields });
  assert.equal(answer.status, 200, answer.text);
  return answer.json();
}

export const poll = (daemon, { device_code }, client_id = 'test') => (
  form(daemon, '/oauth2/token', { grant_type: GRANT, device_code, client_id }));

// The same as a client of a stock library does it, which knows nothing of the daemon but its URL: {ask, token, giveUp}.
export async function stockClient(daemon, client = { client_id: 'stock' }) {
  const how = {
    [oauth.allowInsecureRequests]: daemon.url.startsWith('http:'),
    [oauth.customFetch]: async (url, { method, headers, body }) => {
      const answer = await request(url, { method, headers, body: body?.toString(), tls: daemon.tls });
      return new Response(answer.text, { status: answer.status, headers: answer.headers });
    },
  };
  const none = oauth.None();
  const issuer = new URL(daemon.url);
  const server = await oauth.processDiscoveryResponse(issuer,
    await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...how }));
  return {
    ask: async (scope) => oauth.processDeviceAuthorizationResponse(server, client,
      await oauth.deviceAuthorizationRequest(server, client, none, { scope }, how)),
    token: async ({ device_code }) => oauth.processDeviceCodeResponse(server, client,
      await oauth.deviceCodeGrantRequest(server, client, none, device_code, how)),
    giveUp: async (token) => oauth.processRevocationResponse(
      await oauth.revocationRequest(server, client, none, token, how)),
  };
}

// What an op that reads says, and what one that works has done.
export const said = async (daemon, op, args, options) => (
  (await daemon.command(op, args, options)).message.parts[0].data);
export const done = async (daemon, op, args, options) => (
  (await daemon.command(op, args, options)).task.artifacts[0].parts[0].data);

// A session of `name`: {token, sid}. `operator`: options of a call that is the operator's.
export async function letIn({ daemon, operator }, name, fields) {
  const asked = await ask(daemon, fields);
  await done(daemon, 'auth.device.approve', { user_code: asked.user_code, as: name }, operator);
  const { access_token: token } = (await poll(daemon, asked)).json();
  const { sessions } = await said(daemon, 'auth.sessions', {}, operator);
  return { token, sid: sessions.filter((session) => session.name === name).at(-1).sid };
}

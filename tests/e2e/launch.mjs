// Launch (access.md section 4): a program beside the daemon, of its own user, needs no login.
import http from 'node:http';
import { join } from 'node:path';

import { request } from './harness.mjs';
import { form } from './sign_in.mjs';
import { within } from './processes.mjs';

export const LAUNCH = 'urn:agentd:params:oauth:grant-type:launch';

export const portOf = ({ url }) => new URL(url).port;
export const controlSocket = (daemon) => join(daemon.env.XDG_RUNTIME_DIR, 'agentd', `${portOf(daemon)}.sock`);

// A form over the control socket: {status, headers, text, json()}.
export const beside = (daemon, path, fields) => within(10_000, path, new Promise((resolve, reject) => {
  const outgoing = http.request({
    socketPath: controlSocket(daemon), path, method: 'POST', agent: false,
    headers: { host: 'localhost', 'content-type': 'application/x-www-form-urlencoded' },
  }, (incoming) => {
    let text = '';
    incoming.setEncoding('utf8').on('data', (piece) => { text += piece; });
    incoming.once('end', () => resolve(
      { status: incoming.statusCode, headers: incoming.headers, text, json: () => JSON.parse(text) }));
  });
  outgoing.once('error', reject);
  outgoing.end(new URLSearchParams(fields).toString());
}));

export const askToLaunch = (daemon, fields = {}) => (
  beside(daemon, '/oauth2/launch', { client_id: 'test', origin: daemon.url, ...fields }));

export const codeOf = async (daemon, fields) => (await askToLaunch(daemon, fields)).json().code;

export const exchange = (daemon, launch_code, client_id = 'test') => (
  form(daemon, '/oauth2/token', { grant_type: LAUNCH, launch_code, client_id }));

// What a browser has after it followed a launch's address: {cookie, token, headers} of its requests.
export async function browse(daemon) {
  const code = await codeOf(daemon, { client_id: 'agentd-ui' });
  const answer = await request(`${daemon.url}/oauth2/launch?code=${code}`, {
    headers: { 'sec-fetch-site': 'none' }, tls: daemon.tls,
  });
  const [set] = answer.headers['set-cookie'] ?? [];
  const cookie = set?.split(';')[0];
  const get = (path, headers = {}) => request(daemon.url + path, {
    headers: { cookie, 'sec-fetch-site': 'same-origin', ...headers }, tls: daemon.tls,
  });
  return { code, answer, set, cookie, token: cookie?.split('=')[1], get };
}

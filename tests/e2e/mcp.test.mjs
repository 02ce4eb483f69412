// mcp_conformance: the public kit's scenarios for clients, all of them, against the real daemon over HTTP.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { makeFolder, removeFolder } from './processes.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

const OAUTH = [
  'metadata-default', 'metadata-var1', 'metadata-var2', 'metadata-var3', 'basic-cimd', 'scope-from-www-authenticate',
  'scope-from-scopes-supported', 'scope-omitted-when-undefined', 'scope-step-up', 'scope-retry-limit', 'token-endpoint-auth-basic',
  'token-endpoint-auth-post', 'token-endpoint-auth-none', 'resource-mismatch', 'pre-registration', '2025-03-26-oauth-metadata-backcompat',
  '2025-03-26-oauth-endpoint-fallback', 'client-credentials-basic', 'client-credentials-jwt',
].map((name) => `auth/${name}`);

for (const scenario of ['initialize', 'tools_call', 'elicitation-sep1034-client-defaults', 'sse-retry', ...OAUTH]) {
  test(`mcp_conformance: ${scenario}`, async (t) => {
    const folder = makeFolder();
    t.after(() => removeFolder(folder));
    const kit = [here('./node_modules/@modelcontextprotocol/conformance/dist/index.js'), 'client', '--scenario', scenario,
      '--command', `${process.execPath} ${here('./mcp_client.mjs')}`];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, kit, { cwd: folder, timeout: 60_000 });
    const said = stdout + stderr;
    assert.match(said, /Passed: ([1-9]\d*)\/\1, 0 failed/, said);
  });
}

// The daemon as a client of the MCP conformance kit, which starts this with the URL of its server as the last argument, and with what it
// gives a client to know in MCP_CONFORMANCE_CONTEXT: a turn whose model wants every tool that the server has, once, and before and after
// that to sign in when that is wanted; what the tools ask is answered with what they propose; where to sign in is visited.

import { chatting, open, say } from './chat.mjs';
import { GATE } from './contract.mjs';
import { Daemon, request } from './harness.mjs';
import { ModelServer } from './model_server.mjs';
import { eventually } from './processes.mjs';

const url = process.argv.at(-1);
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? '';
// The document of a client that the kit knows.
const known = scenario === 'auth/basic-cimd' ? { client_id: 'https://conformance-test.local/client-metadata.json' } : {};
const { client_id, client_secret, private_key_pem } = { ...known, ...JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}') };
const credentials = scenario.startsWith('auth/client-credentials');
const oauth = { ...(client_id && { client_id }), ...(client_secret && { client_secret: { env: 'KIT_SECRET' } }),
  ...(private_key_pem && { private_key: { env: 'KIT_KEY' } }), ...(credentials && { grant: 'client_credentials' }) };

const SIGN_IN = 'kit__sign_in';
const isTool = ({ function: { name } }) => name.startsWith('kit__');
const valueOf = (schema) => ({ number: 5, integer: 5, boolean: true, string: 'text' }[schema.type] ?? {});
const callOf = ({ function: { name, parameters } }) => ({
  name, arguments: Object.fromEntries(Object.entries(parameters.properties ?? {}).map(([key, schema]) => [key, valueOf(schema)])),
});
const wantsSignIn = ({ tools }) => tools.some(({ function: { name } }) => name === SIGN_IN);
// The last thing that it was told is that something new can be tried: the person's message, or that it is signed in.
const isFresh = ({ messages }) => messages.at(-1).role === 'user' || /^Signed in/.test(messages.at(-1).content);
const rounds = ({ messages }) => messages.filter(({ role }) => role === 'assistant').length;

const model = await ModelServer.start([
  { match: { predicate: (asked) => wantsSignIn(asked) && rounds(asked) < 8 }, response: { toolCalls: [{ name: SIGN_IN, arguments: {} }] } },
  { match: { predicate: (asked) => isFresh(asked) && asked.tools.some(isTool) && rounds(asked) < 8 },
    response: ({ tools }) => ({ toolCalls: tools.filter(isTool).map(callOf) }) },
  { match: {}, response: { content: 'Done.' } },
]);
const daemon = new Daemon(chatting(model, { approval: 'accept' }, {
  config: { mcp: { servers: { kit: { url, oauth } } }, log: { level: 'debug' } }, env: { KIT_SECRET: client_secret ?? '-', KIT_KEY: private_key_pem ?? '-' },
}));

async function visit({ url: page }) {
  const { headers, status, text } = await request(page);
  if (status < 300 || status > 399) throw new Error(`${page}: HTTP ${status} ${text}`);
  await request(headers.location);
}

try {
  await daemon.start();
  await eventually('the server', () => /an MCP server (is there|is not there|wants a person)/.test(daemon.log), 20_000);
  const task = await open(daemon, 'Use everything.');
  for (let answered = ''; ;) {
    const { status } = await daemon.taskIn(task.id, ['COMPLETED', 'FAILED', 'INPUT_REQUIRED', 'AUTH_REQUIRED'], { ms: 25_000 });
    const gate = status.message?.metadata?.[GATE];
    if (!/_REQUIRED$/.test(status.state)) break;
    if (gate.id === answered) continue;
    answered = gate.id;
    if (status.state === 'TASK_STATE_AUTH_REQUIRED') {
      await visit(gate);
    } else {
      const { error } = await say(daemon, task, [{ data: {} }]);
      if (error) throw new Error(error.message);
    }
  }
} catch (fault) {
  console.error(fault, daemon.log);
  process.exitCode = 1;
} finally {
  await daemon.dispose();
  await model.stop();
}

// The daemon as a client of the MCP conformance kit, which starts this with the URL of its server as the last argument: a turn whose model
// wants every tool that the server has, once; what the tools ask is answered with what they propose.

import { chatting, open, say } from './chat.mjs';
import { Daemon } from './harness.mjs';
import { ModelServer } from './model_server.mjs';
import { eventually } from './processes.mjs';

const url = process.argv.at(-1);
const isTool = ({ function: { name } }) => name.startsWith('kit__');
const valueOf = (schema) => ({ number: 5, integer: 5, boolean: true, string: 'text' }[schema.type] ?? {});
const callOf = ({ function: { name, parameters } }) => ({
  name, arguments: Object.fromEntries(Object.entries(parameters.properties ?? {}).map(([key, schema]) => [key, valueOf(schema)])),
});

const model = await ModelServer.start([
  { match: { predicate: ({ messages, tools }) => messages.at(-1).role === 'user' && tools.some(isTool) },
    response: ({ tools }) => ({ toolCalls: tools.filter(isTool).map(callOf) }) },
  { match: {}, response: { content: 'Done.' } },
]);
const daemon = new Daemon(chatting(model, { approval: 'accept' }, { config: { mcp: { servers: { kit: { url } } }, log: { level: 'debug' } } }));
try {
  await daemon.start();
  await eventually('the server', () => daemon.log.includes('an MCP server is there'), 20_000);
  const task = await open(daemon, 'Use everything.');
  for (;;) {
    const { status } = await daemon.taskIn(task.id, ['COMPLETED', 'FAILED', 'INPUT_REQUIRED'], { ms: 25_000 });
    if (status.state !== 'TASK_STATE_INPUT_REQUIRED') break;
    const { error } = await say(daemon, task, [{ data: {} }]);
    if (error) throw new Error(error.message);
  }
} catch (fault) {
  console.error(fault, daemon.log);
  process.exitCode = 1;
} finally {
  await daemon.dispose();
  await model.stop();
}

// An agent on the official JavaScript SDK, as light as it can be made: no Express, tasks in memory, and an answer that
// is one event, a completed task. It stores nothing on disk, which the daemon beside it does.
//
// usage: node sdk_server.mjs FOLDER    prints {"url"} when it listens; node_modules is in FOLDER
import http from 'node:http';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';

const require = createRequire(resolve(process.argv[2], 'package.json'));
const { AgentCard, Artifact, TaskState } = require('@a2a-js/sdk');
const {
  AgentEvent, DefaultRequestHandler, InMemoryTaskStore, JsonRpcTransportHandler, ServerCallContext, UnauthenticatedUser,
} = require('@a2a-js/sdk/server');

const answer = Artifact.fromJSON({ artifactId: 'answer', name: 'answer', parts: [{ text: 'hello' }] });

const executor = {
  async execute({ taskId, contextId, userMessage }, bus) {
    bus.publish(AgentEvent.task({
      id: taskId,
      contextId,
      status: { state: TaskState.TASK_STATE_COMPLETED, message: undefined, timestamp: new Date().toISOString() },
      artifacts: [answer],
      history: [userMessage],
      metadata: undefined,
    }));
    bus.finished();
  },
  async cancelTask() {},
};

const card = AgentCard.fromJSON({
  name: 'peer', description: 'Answers at once', version: '1', capabilities: {}, skills: [],
  defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'],
  supportedInterfaces: [{ url: 'http://127.0.0.1/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
});
const handler = new JsonRpcTransportHandler(new DefaultRequestHandler(card, new InMemoryTaskStore(), executor));

const server = http.createServer((request, response) => {
  const pieces = [];
  request.on('data', (piece) => pieces.push(piece));
  request.once('end', async () => {
    const context = new ServerCallContext({
      requestedVersion: request.headers['a2a-version'], user: new UnauthenticatedUser(),
    });
    const body = JSON.stringify(await handler.handle(Buffer.concat(pieces).toString(), context));
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) });
    response.end(body);
  });
});
server.listen({ host: '127.0.0.1', port: 0, backlog: 4096 }, () => {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` }));
});

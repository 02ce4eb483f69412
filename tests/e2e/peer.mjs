// An A2A agent on the official SDK, to delegate to: what it is told decides what it does (`work`, `ask`, `hang`, `cut`).
import http from 'node:http';

import { AgentCard, Artifact, Message, TaskState } from '@a2a-js/sdk';
import {
  AgentEvent, DefaultRequestHandler, InMemoryTaskStore, JsonRpcTransportHandler, ServerCallContext, UnauthenticatedUser,
} from '@a2a-js/sdk/server';

const artifact = (text) => Artifact.fromJSON({ artifactId: 'found', name: 'found', parts: [{ text }] });

export class Peer {
  seen = [];  // {method, authorization} of each request
  working = new Map();  // task -> what ends it, of those that hang

  static async start() {
    const peer = new Peer();
    peer.server = http.createServer((request, response) => peer.#serve(request, response));
    await new Promise((resolve) => { peer.server.listen(0, '127.0.0.1', resolve); });
    peer.url = `http://127.0.0.1:${peer.server.address().port}`;
    const card = AgentCard.fromJSON({
      name: 'Researcher', description: 'Finds things out', version: '1', skills: [],
      capabilities: { streaming: true }, defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'],
      supportedInterfaces: [{ url: `${peer.url}/`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    });
    peer.card = AgentCard.toJSON(card);
    peer.handler = new JsonRpcTransportHandler(new DefaultRequestHandler(card, new InMemoryTaskStore(), {
      execute: (context, bus) => peer.#work(context, bus),
      cancelTask: async (id, bus) => { peer.#end(id, bus); },
    }));
    return peer;
  }

  async stop() {
    const closed = new Promise((resolve) => { this.server.close(resolve); });
    this.server.closeAllConnections();
    await closed;
  }

  async #work({ taskId, contextId, userMessage }, bus) {
    const status = (state, text) => ({
      state: TaskState[`TASK_STATE_${state}`], timestamp: new Date().toISOString(),
      message: text && Message.fromJSON({ messageId: 'm', role: 'ROLE_AGENT', parts: [{ text }] }),
    });
    const tell = (state, text) => bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: status(state, text), metadata: undefined }));
    const put = (text, append) => bus.publish(AgentEvent.artifactUpdate({
      taskId, contextId, artifact: artifact(text), append, lastChunk: append, metadata: undefined,
    }));
    bus.publish(AgentEvent.task({
      id: taskId, contextId, status: status('SUBMITTED'), artifacts: [], history: [userMessage], metadata: undefined,
    }));
    tell('WORKING');
    const [{ content }] = userMessage.parts;
    if (content.value === 'hang') {
      await new Promise((resolve) => { this.working.set(taskId, { contextId, resolve }); });
      return;
    }
    if (content.value === 'cut') {
      await this.#cutNow();
      put('whole at last', false);
    } else if (content.value === 'ask') {
      tell('INPUT_REQUIRED', 'Which one?');
      bus.finished();
      return;
    } else {
      put('part one, ', false);
      put('part two', true);
    }
    tell('COMPLETED');
    bus.finished();
  }

  #end(id, bus) {
    const { contextId, resolve } = this.working.get(id);
    this.working.delete(id);
    const status = { state: TaskState.TASK_STATE_CANCELED, timestamp: new Date().toISOString(), message: undefined };
    bus.publish(AgentEvent.statusUpdate({ taskId: id, contextId, status, metadata: undefined }));
    bus.finished();
    resolve();
  }

  // Cuts the stream once the caller has seen the task; goes on when it has come back.
  async #cutNow() {
    const back = new Promise((resolve) => { this.comeBack = resolve; });
    setImmediate(() => this.stream.destroy());
    await back;
  }

  #serve(request, response) {
    if (request.url === '/.well-known/agent-card.json') {
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify(this.card));
      return;
    }
    const pieces = [];
    request.on('data', (piece) => pieces.push(piece));
    request.once('end', async () => {
      const text = Buffer.concat(pieces).toString();
      const { method } = JSON.parse(text);
      this.seen.push({ method, authorization: request.headers.authorization });
      const context = new ServerCallContext({ requestedVersion: request.headers['a2a-version'], user: new UnauthenticatedUser() });
      const answer = await this.handler.handle(text, context);
      if (typeof answer[Symbol.asyncIterator] !== 'function') {
        response.setHeader('Content-Type', 'application/json');
        response.end(JSON.stringify(answer));
        return;
      }
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      if (method === 'SendStreamingMessage') this.stream = response;
      else this.comeBack?.();
      for await (const event of answer) response.write(`data: ${JSON.stringify(event)}\n\n`);
      response.end();
    });
  }
}

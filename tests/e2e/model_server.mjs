// A chat model that says what a test wants: aimock, which speaks the dialects of OpenAI and Anthropic, streamed.
import { LLMock, createServer } from '@copilotkit/aimock';

// replies: aimock's fixtures, the first one that matches answers:
//   {match: {userMessage: 'weather', hasToolResult: false}, response: {toolCalls: [{name: 'weather', arguments: {city: 'Oslo'}}]}}
//   {match: {sequenceIndex: 0}, response: {error: {message: 'busy'}, status: 429, retryAfter: 0}}
//   {match: {}, response: {content: 'Hello'}, chunkSize: 2, truncateAfterChunks: 2}
// What nothing matches gets 404. options: aimock's: chaos {dropRate, malformedRate, disconnectRate, rateLimitRate}, chunkSize, latency,
// auth {apiKeys}.
export class ModelServer {
  static async start(replies, options = {}) {
    const server = new ModelServer();
    const mock = new LLMock();  // for what on() takes: arguments written as objects
    for (const { match, response, ...rest } of replies) mock.on(match, response, rest);
    server.instance = await createServer([...mock.getFixtures()], { host: '127.0.0.1', port: 0, ...options });
    return server;
  }

  // `agent.model.url` of an endpoint, whichever the dialect.
  get url() { return `${this.instance.url}/v1`; }

  // The requests so far, in order: {path, headers, body, response: {status}}. Bodies of Anthropic's dialect as OpenAI's.
  get requests() { return this.instance.journal.getAll(); }

  // From now on, over all replies; {} ends it.
  set chaos(rates) { this.instance.defaults.chaos = rates; }

  // Cuts what is still under way.
  async stop() {
    const closed = new Promise((resolve) => { this.instance.server.close(resolve); });
    this.instance.server.closeAllConnections();
    await closed;
  }
}

// What the tests of chat turns share: a daemon whose model is a ModelServer, and words for what comes of a task.
import { userMessage } from './harness.mjs';

// Options of a daemon that asks `model`; `over`: more of `agent`; `more`: the rest of the options.
export function chatting(model, over = {}, { config = {}, env = {}, ...more } = {}) {
  const agent = {
    model: { provider: 'openai', model: 'test-model', endpoint: model.url, api_key: { env: 'MODEL_KEY' } },
    ...over,
  };
  return { ...more, config: { ...config, agent }, env: { MODEL_KEY: 'sk-test-0123456789', ...env } };
}

// The text of one artifact.
export const textOf = (task, artifact = 'answer') => task.artifacts?.find(({ artifactId }) => artifactId === artifact)?.parts
  .map(({ text }) => text).join('');

// A task that is not waited for.
export const open = (daemon, text, more = {}) => daemon.sendTask(text, { configuration: { returnImmediately: true }, ...more });

// One more message for a task, and the whole answer: {result, error, …}.
export const say = (daemon, task, parts, { message, ...options } = {}) => daemon.rpc('SendMessage', {
  message: userMessage('', { taskId: task.id, parts, ...message }), configuration: { returnImmediately: true },
}, options);

// What a principal may see, read anew as a display client does.
import { COMMAND } from './contract.mjs';

const MS = 120_000;

export async function statusOf(daemon, token) {
  const { message } = await daemon.command('status', {}, { token, extensions: [COMMAND], ms: MS });
  return message.parts[0].data;
}

// What a status document says, in the form of feed_reader.mjs: all objects but the tasks.
export function stateOf(status) {
  const state = new Map();
  const put = (kind, documents = []) => documents.forEach((data) => state.set(`${kind} ${data.id ?? data.node}`, data));
  put('run', status.runs);
  put('conversation', status.conversations);
  put('activity', status.activity);
  put('child', status.children);
  return state;
}

// {seq, state}: the state at `seq`. Tasks may be newer; events past `seq` bring them there.
export async function snapshot(daemon, token) {
  const status = await statusOf(daemon, token);
  const tasks = await daemon.allTasks({ includeArtifacts: true, historyLength: 4 }, { token, ms: MS });
  const state = stateOf(status);
  for (const task of tasks) state.set(`task ${task.id}`, { task });
  return { seq: status.seq, state };
}

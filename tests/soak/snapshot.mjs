// What a principal may see, read anew as a display client does.
import { COMMAND } from '../e2e/contract.mjs';

const MS = 120_000;

export async function statusOf(daemon, token) {
  const { message } = await daemon.command('status', {}, { token, extensions: [COMMAND], ms: MS });
  return message.parts[0].data;
}

// {seq, state}: the state at `seq`, in the form of feed_reader.mjs. Tasks may be newer; events past `seq` bring them there.
export async function snapshot(daemon, token) {
  const status = await statusOf(daemon, token);
  const tasks = await daemon.allTasks({ includeArtifacts: true, historyLength: 4 }, { token, ms: MS });
  const state = new Map(tasks.map((task) => [`task ${task.id}`, { task }]));
  const put = (kind, documents = []) => documents.forEach((data) => state.set(`${kind} ${data.id ?? data.node}`, data));
  put('run', status.runs);
  put('conversation', status.conversations);
  put('activity', status.activity);
  put('child', status.children);
  return { seq: status.seq, state };
}

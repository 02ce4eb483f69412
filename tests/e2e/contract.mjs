// Names and tables of the wire contract that more than one test needs.

export const EVENTS = 'https://agentd.dev/a2a/ext/events';
export const COMMAND = 'https://agentd.dev/a2a/ext/command';
export const ANNOTATIONS = 'https://agentd.dev/a2a/ext/task-annotations';
export const GATE = 'https://agentd.dev/a2a/gate';
export const SUBSCRIBE = 'agentd.events/SubscribeToEvents';

export const TERMINAL = ['COMPLETED', 'FAILED', 'CANCELED', 'REJECTED'].map((s) => `TASK_STATE_${s}`);
export const isTerminal = (task) => TERMINAL.includes(task.status.state);

const words = (text) => text.split(' ');

// The closed vocabulary of the feed, in table order: widest audience, required members, optional members.
// `step`, `lifecycle` and `auth` have variants; `required` holds what every variant has.
export const KINDS = new Map(Object.entries({
  task: ['owner', words('task')],
  'task.removed': ['owner', words('id')],
  run: ['owner', words('id workflow status start steps tokens created updated finished output error task principal')],
  'run.removed': ['owner', words('id')],
  step: ['operator', words('run step phase attempt'), words('kind status tokens err')],
  conversation: ['owner',
    words('id contextId kind version messages est_tokens turns principal skills plan updated')],
  'conversation.removed': ['owner', words('id')],
  subagent: ['operator', words('handle mode status tokens error updated')],
  'subagent.removed': ['operator', words('id')],
  child: ['operator', words('node pid kind age_ms tokens cancelled')],
  'child.removed': ['operator', words('id')],
  activity: ['owner', words('id task ctx phase tool round tokens_in tokens_out started_ms updated_ms')],
  'activity.removed': ['owner', words('id')],
  status: ['operator',
    words('instance model version draining inbox_pending counters budget store values skill_prefix')],
  lifecycle: ['all', [], words('draining paused reason')],
  config: ['all', words('paths source')],
  audit: ['operator', words('ts principal role action target outcome'), words('sid')],
  auth: ['operator', words('event client_id scope'), words('user_code peer sid name')],
}).map(([kind, [audience, required, optional = []]]) => [kind, { audience, required, optional }]));

export const kindsFor = (role, { introspection = false } = {}) => [...KINDS.entries()]
  .filter(([kind, { audience }]) => (role === 'operator'
    ? introspection || kind !== 'audit'
    : audience !== 'operator'))
  .map(([kind]) => kind);

// What identifies an object on the feed, for the kinds that describe objects.
const identity = {
  task: (data) => data.task.id,
  run: (data) => data.id,
  conversation: (data) => data.id,
  subagent: (data) => data.handle,
  child: (data) => String(data.node),
  activity: (data) => data.id,
};

// [kind without ".removed", id] of an event about an object; null for the others.
export function objectOf({ kind, data }) {
  if (kind.endsWith('.removed')) return [kind.slice(0, -'.removed'.length), data.id];
  return identity[kind] ? [kind, identity[kind](data)] : null;
}

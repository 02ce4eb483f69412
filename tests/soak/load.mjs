// What makes the events: messages of the principals, a fixed list for a seed, sent by a few clients at a time. Their count
// is the clock of the soak: stalls and absences last for so many messages, and no part of it waits for time to pass.
import { commandMessage, userMessage } from '../e2e/harness.mjs';
import { COMMAND } from '../e2e/contract.mjs';

export const EVENTS_PER_MESSAGE = 10;  // about, of the mix below

export const workflow = {
  name: 'work',
  steps: {
    work: { exec: ['echo', 'done'] },
    end: { needs: ['work'], finish: { output: '${{ .steps.work.output }}' } },
  },
};

// A context that belongs to nobody else, so that whatever is made from it says whose it is.
const contextOf = (name, number) => `${name}.${number}`;
export const isContextOf = (name, context) => context.startsWith(`${name}.`);

export class Load {
  constructor({ world, names, tokens, longest, random }) {
    Object.assign(this, { world, names, tokens, longest, random });
    this.sent = 0;
    this.end = 0;
    this.waiting = [];
  }

  // Sends `count` more messages.
  async run(count, clients) {
    this.end = this.sent + count;
    let left = count;
    await Promise.all(Array.from({ length: clients }, async () => {
      while (left-- > 0) {
        await this.#send(this.#next());
        ++this.sent;
        this.#wake(this.sent);
      }
    }));
  }

  // When so many messages have been sent in all, or at the end of the load.
  reaches(sent) {
    if (this.sent >= Math.min(sent, this.end)) return Promise.resolve();
    return new Promise((resolve) => this.waiting.push({ sent: Math.min(sent, this.end), resolve }));
  }

  #wake(sent) {
    this.waiting = this.waiting.filter((waiter) => {
      if (waiter.sent <= sent) waiter.resolve();
      return waiter.sent > sent;
    });
  }

  #next() {
    const name = this.names[Math.floor(this.random() * this.names.length)];
    const over = { contextId: contextOf(name, Math.floor(this.random() * 5)) };
    const kind = this.random();
    const long = this.random() < 0.1 ? 'x'.repeat(Math.floor(this.random() * this.longest)) : '';
    if (kind < 0.02) return { name, message: commandMessage('workflow.run', { workflow: workflow.name }, over) };
    if (kind < 0.10) return { name, message: userMessage(`ask ${long}`, over), answer: 'blue' };
    if (kind < 0.20) return { name, message: userMessage(`pieces ${long}`, over) };
    return { name, message: userMessage(`hello ${long}`, over) };
  }

  // A message that a kill cut off is not sent again: whether it was taken is the daemon's word.
  async #send({ name, message, answer }) {
    const options = { token: this.tokens[name], extensions: [COMMAND], ms: 120_000 };
    const { daemon } = this.world;
    await this.world.inOneLife(async () => {
      const { task } = await daemon.call('SendMessage', { message }, options);
      if (answer === undefined) return;
      const { contextId, id: taskId } = task;
      await daemon.call('SendMessage', { message: userMessage(answer, { contextId, taskId }) }, options);
    });
  }
}

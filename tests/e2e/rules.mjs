// What the scripted model answers in these tests: the first word of a message chooses (docs/scripted-model.md).
const rule = (word, ...reply) => ({ when: { text: `^${word}\\b` }, reply });
const file = (name, text) => ({ artifact: { name, parts: [{ text }] } });

const greeting = [{ text: 'Hello.' }, file('greeting.txt', 'Hello to you.')];

export const standardRules = [
  rule('hello', ...greeting),
  rule('direct', { message: { parts: [{ text: 'No task is needed for this.' }] } }),
  rule('ask', { state: 'input_required', message: 'Which colour?' }),
  rule('blue', { text: 'Blue it is.' }, file('colour.txt', 'blue')),
  rule('slow', { delay: '500ms' }, ...greeting),
  rule('forever', { delay: '10m' }, ...greeting),
  rule('pieces', { say: 'Here it comes.' }, { chunks: { artifact: 'song.txt', text: 'one two three four', size: 4 } }),
  rule('tool', { tool: { name: 'hammer', delay: '100ms' } }, ...greeting),
];

// Workflow documents that the tests run. Their steps leave files in the daemon's working folder: `pids` and `trace`.

// One line in `trace` for each attempt, when its work is done.
const traced = (step, needs) => ({
  needs,
  run: `echo $$ >> pids; sleep 0.0$((($$ % 5) + 1)); echo "$RUN ${step}" >> trace`,
  env: { RUN: '${{ .run.id }}' },
});

const one = (name, step) => ({ name, steps: { work: step } });

export const workflows = {
  pair: {
    name: 'pair',
    description: 'Two steps, one after the other, and a file.',
    inputs: { type: 'object', properties: { who: { type: 'string' } } },
    steps: {
      first: { run: 'echo "for $WHO"', env: { WHO: '${{ .inputs.who // "nobody" }}' } },
      second: { needs: ['first'], exec: ['echo', '${{ .steps.first.output }} again'] },
      report: {
        needs: ['second'],
        finish: {
          output: { said: '${{ .steps.second.output }}', count: '${{ 1 + 1 }}' },
          artifact: { name: 'report.md', mediaType: 'text/markdown', text: '# ${{ .steps.second.output }}' },
        },
      },
    },
  },
  broken: one('broken', { run: 'echo it went boom >&2; exit 3' }),
  late: one('late', { run: 'echo $$ >> pids; exec sleep 300', timeout: '300ms' }),
  // A child and a grandchild that would outlive every test.
  sleeper: one('sleeper', { run: 'echo $$ >> pids; sleep 300 & echo $! >> pids; wait' }),
  third: one('third', { run: 'echo try >> tries; test "$(wc -l < tries)" -ge 3', retries: 4 }),
  chain: {
    name: 'chain',
    steps: { s1: traced('s1', []), s2: traced('s2', ['s1']), s3: traced('s3', ['s2']), s4: traced('s4', ['s3']) },
  },
};

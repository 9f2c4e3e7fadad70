import { availableParallelism } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';

/** Folders whose tests run in the test process: loading the sources again for each file would take longer than many of them. */
const IN_PROCESS = [
  'test/{base,client,daemon,extensions,llm,pod,protocols,sim,store,timeline,wire,worker}/**/*.test.ts',
  'test/terminal/**/*.test.ts',
];

export default defineConfig({
  test: {
    globalSetup: ['test/leaves-nothing.ts'],
    pool: 'threads',
    // Most tests wait for processes and sockets: with one worker for each core, some of the cores would be idle.
    maxWorkers: availableParallelism() + 1,
    // Deadlines only end what hangs: a busy machine takes many times as long as an idle one.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000, interval: 20 } },
    projects: [
      { extends: true, test: { name: 'in process', include: IN_PROCESS, isolate: false } },
      {
        extends: true,
        test: {
          name: 'alone',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...IN_PROCESS],
        },
      },
    ],
  },
});

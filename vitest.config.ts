import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/leaves-nothing.ts'],
    pool: 'threads',
    // Most tests wait for processes and sockets: on two cores one worker, the default there, leaves half of them idle.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // Deadlines only end what hangs: a busy machine takes many times as long as an idle one.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000, interval: 20 } },
  },
});

import { statSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runBuilt } from './built.ts';
import { temporaryDirectory } from './stage.ts';

/** Prints how much more memory the process had at its peak than before, and what came out. */
const MEASURE = `
import { existsSync, readFileSync } from 'node:fs';
import { bash } from './tools/bash.js';
// What \`resourceUsage\` tells on Linux counts the peak of whoever started the process.
const peakKb = () => existsSync('/proc/self/status')
  ? Number(/VmHWM:\\s*(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1])
  : process.resourceUsage().maxRSS;
const scratch = process.argv[2];
const env = { PATH: process.env.PATH };
const around = { callId: 'call-1', cwd: scratch, env, scratch, sandbox: undefined, update: () => {}, resolve: async (path) => path };
const run = (command) => bash.prepare({ command }, scratch).run(around, new AbortController().signal);
await run('seq 100000');
const before = peakKb();
const { content: [{ text }], details } = await run('yes "a line of output" | head -c 1000000000');
const moreMb = (peakKb() - before) / 1024;
console.log(JSON.stringify({ moreMb, text, details }));
`;

test('a command that prints 1 GB takes no more memory than one that prints little', {
  timeout: 60_000,
}, async () => {
  const { moreMb, text, details } = (await runBuilt(MEASURE, [temporaryDirectory()])) as {
    moreMb: number;
    text: string;
    details: { outputBytes: number; outputFile: string; exitCode: number; durationMs: number };
  };
  expect(details).toMatchObject({ outputBytes: 1_000_000_000, exitCode: 0 });
  expect(text.length).toBeLessThan(32_000);
  expect(text).toMatch(
    /\[all 1 GB of output are in .+, the first 67 MB of it: only the beginning was kept; /,
  );
  expect(statSync(details.outputFile).size).toBe(64 * 1024 * 1024);
  // A tenth of what was printed, whatever the version of Node: newer ones let their heap grow further before they collect.
  expect(moreMb).toBeLessThan(100);
  console.log(`1 GB of output: ${Math.round(moreMb)} MB more at the peak, ${details.durationMs} ms`);
});

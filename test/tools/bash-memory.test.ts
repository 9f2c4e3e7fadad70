import { statSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runBuilt } from './built.ts';
import { temporaryDirectory } from './fixture.ts';

const PRINTED = 200_000_000;
/** Far below what is printed, and far above the chunks that are written to the file at one time. */
const MARGIN = 70_000_000;

/** Prints the maximum memory growth while the command printed, and the output. */
const MEASURE = `
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { bash } from './tools/bash.js';
setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc');
const live = async () => {
  // Memory of buffers is given back some turns after their objects.
  for (let round = 0; round < 3; round += 1) {
    gc();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};
const scratch = process.argv[2];
const env = { PATH: process.env.PATH };
const samples = [];
let isMeasuring = false;
const update = async () => {
  if (isMeasuring) return;
  isMeasuring = true;
  samples.push(await live());
  isMeasuring = false;
};
const context = { callId: 'call-1', cwd: scratch, env, scratch, sandbox: undefined, update, resolve: async (path) => path };
const run = (command) => bash.prepare({ command }, scratch).run(context, new AbortController().signal);
await run('seq 100000');
samples.length = 0;
const before = await live();
const { content: [{ text }], details } = await run('yes "a line of output" | head -c ${PRINTED}');
console.log(JSON.stringify({ samples: samples.length, more: Math.max(...samples) - before, text, details }));
`;

test('a command that prints 200 MB uses no more memory than one that prints little', {
  timeout: 180_000,
}, async () => {
  const { samples, more, text, details } = (await runBuilt(MEASURE, [temporaryDirectory()])) as {
    samples: number;
    more: number;
    text: string;
    details: { outputBytes: number; outputFile: string; exitCode: number };
  };
  expect(details).toMatchObject({ outputBytes: PRINTED, exitCode: 0 });
  expect(text.length).toBeLessThan(32_000);
  expect(text).toMatch(
    /\[all 200 MB of output are in .+, the first 67 MB of it: only the beginning was kept; /,
  );
  expect(statSync(details.outputFile).size).toBe(64 * 1024 * 1024);
  expect(samples).toBeGreaterThan(0);
  expect(more).toBeLessThan(MARGIN);
  console.log(`200 MB of output: ${Math.round(more / 1e6)} MB more alive in ${samples} samples`);
});

// Loaded into the program under test with --import. On SIGUSR2 it collects garbage and writes the live memory to $HEAP_FILE.
import { writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc');
const file = process.env.HEAP_FILE ?? '';
let count = 0;

process.on('SIGUSR2', () => {
  gc();
  // Memory of buffers is given back a turn after their objects.
  setImmediate(() => {
    gc();
    const { heapUsed, external } = process.memoryUsage();
    const { user, system } = process.cpuUsage();
    count += 1;
    writeFileSync(
      file,
      `${JSON.stringify({ count, live: heapUsed + external, cpuMs: (user + system) / 1000 })}\n`,
    );
  });
});

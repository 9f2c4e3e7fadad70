// Measures the CPU of a host per delta and watcher: node point.mjs <floor|pod> <flood|paced> <watchers> <idle>
// This process contains all watchers. Sessions are opened and joined before the measurement, which starts with the prompt and
// ends when all watchers have received everything. Idle watchers never read and are not counted.
import { cpuPerRun } from '../floor/measure.mjs';
import { startProvider } from '../floor/processes.mjs';
import { promptFor } from '../floor/prompts.mjs';
import { median } from '../statistics.mjs';
import { startSessions } from './hosts.mjs';
import { join, run } from './join.mjs';
import { ByteCount, readAnswer } from './watchers.mjs';

/** Long enough that the start and the end of an answer have little weight. */
const DELTAS = { most: 5_000, least: 1_000, delivered: 1_000_000 };

const [kind, work] = process.argv.slice(2);
const [watchers, idle] = process.argv.slice(4).map(Number);
const deltas = Math.min(DELTAS.most, Math.max(DELTAS.least, DELTAS.delivered / watchers));
/** In a paced answer, one write of the provider is written to all watchers before the next one arrives. */
const delayMs = { flood: 0, paced: 1 + watchers / 50 }[work];
const reads = [];
const sessions = await startSessions(kind, await startProvider());
const cpuUs = await cpuPerRun(
  () => answer(0),
  () => answer(delayMs),
);
console.log(JSON.stringify({ cpuUs: cpuUs / deltas / watchers, reads: median(reads) }));
process.exit(0);

async function answer(pauseMs) {
  const { session, path } = await sessions.ask({ do: 'open' });
  const sockets = [];
  // One after the other: more at once would exceed the backlog of the socket.
  while (sockets.length < watchers + idle) sockets.push(await join(path));
  const [first, ...others] = sockets.slice(0, watchers);
  const counts = others.map((socket) => new ByteCount(socket));
  const reading = readAnswer(first);
  const before = await sessions.ask({ do: 'spent' });
  run(first, promptFor({ count: deltas, delayMs: pauseMs }));
  const came = await reading;
  await Promise.all(counts.map((count) => count.reach(came.bytes)));
  const after = await sessions.ask({ do: 'spent' });
  if (came.deltas !== deltas) throw new Error(`${came.deltas} of ${deltas} deltas came`);
  if (pauseMs === delayMs) reads.push(came.reads);
  for (const socket of sockets) socket.destroy();
  await sessions.ask({ do: 'close', session });
  return after.cpuUs - before.cpuUs;
}

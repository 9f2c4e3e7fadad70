// CPU of a host for each delta and watcher: node point.mjs <floor|pod> <watchers> <watchers that never read>
// This process is all the watchers. Sessions are opened and joined before: what counts is from the prompt until all have all.
import { cpuPerRun } from '../floor/measure.mjs';
import { startProvider } from '../floor/processes.mjs';
import { promptFor } from '../floor/prompts.mjs';
import { startSessions } from './hosts.mjs';
import { join, run } from './join.mjs';
import { ByteCount, readAnswer } from './watchers.mjs';

/** Enough of either that the beginning and the end of an answer weigh little. */
const DELTAS = { most: 5_000, least: 1_000, delivered: 1_000_000 };

const [kind, watchers, idle] = [process.argv[2], ...process.argv.slice(3).map(Number)];
const deltas = Math.min(DELTAS.most, Math.max(DELTAS.least, DELTAS.delivered / watchers));
const sessions = await startSessions(kind, await startProvider());
const cpuUs = await cpuPerRun(answer, answer);
console.log(JSON.stringify({ cpuUs: cpuUs / deltas / watchers }));
process.exit(0);

async function answer() {
  const { session, path } = await sessions.ask({ do: 'open' });
  const sockets = [];
  // One after the other: more at once than a socket's backlog holds would be refused.
  while (sockets.length < watchers + idle) sockets.push(await join(path));
  const [first, ...others] = sockets.slice(0, watchers);
  const counts = others.map((socket) => new ByteCount(socket));
  const reading = readAnswer(first);
  const before = await sessions.ask({ do: 'spent' });
  run(first, promptFor({ count: deltas }));
  const came = await reading;
  await Promise.all(counts.map((count) => count.reach(came.bytes)));
  const after = await sessions.ask({ do: 'spent' });
  if (came.deltas !== deltas) throw new Error(`${came.deltas} of ${deltas} deltas came`);
  for (const socket of sockets) socket.destroy();
  await sessions.ask({ do: 'close', session });
  return after.cpuUs - before.cpuUs;
}

// Measures the CPU of a server per event and watcher of one busy session: node streams.mjs <floor|door> <flood|paced> <watchers>
// This process contains all watchers. They connect at the same moment and stay connected. The measurement starts with a prompt and
// ends when all watchers have received its answer.
import { cpuPerRun } from '../floor/measure.mjs';
import { promptFor } from '../floor/prompts.mjs';
import { headersFor, startServer, submit, untilOver } from './servers.mjs';
import { readAnswer, Watcher } from './watchers.mjs';

/** Long enough that the start and the end of an answer have little weight. */
const DELTAS = { most: 5_000, least: 1_000, delivered: 1_000_000 };
const SESSION = 'busy';

const [kind, work, count] = process.argv.slice(2);
const watchers = Number(count);
const deltas = Math.min(DELTAS.most, Math.max(DELTAS.least, DELTAS.delivered / watchers));
/** In a paced answer, one write of the provider is written to all watchers before the next one arrives. */
const delayMs = { flood: 0, paced: 1 + watchers / 50 }[work];

const server = await startServer(kind);
const prompt = {
  door: (text) => submit(server, { sessionId: SESSION, userPrompt: text, taskType: 'chat' }),
  floor: (text) => server.control.ask({ do: 'run', prompt: text }),
}[kind];
// A session exists after its first submission.
if (kind === 'door') await untilOver(server, await prompt(promptFor({ count: 1 })));
const all = await Promise.all(Array.from({ length: watchers }, open));
const [first, ...others] = all;
const cpuUs = await cpuPerRun(
  () => answer(0),
  () => answer(delayMs),
);
const digests = new Set(all.map((watcher) => watcher.digest()));
console.log(JSON.stringify({ cpuUs: cpuUs / deltas / watchers, versions: digests.size }));
process.exit(0);

function open() {
  const url = `${server.url}/sessions/${SESSION}/events`;
  const isJoined = { door: (text) => /event: snapshot\n[^]*\n\n$/.test(text), floor: () => true }[kind];
  return Watcher.open(url, headersFor(server), isJoined);
}

async function answer(pauseMs) {
  const reading = readAnswer(first);
  const before = await server.control.ask({ do: 'spent' });
  await prompt(promptFor({ count: deltas, delayMs: pauseMs }));
  const came = await reading;
  await Promise.all(others.map((watcher) => watcher.reach(first.bytes)));
  const after = await server.control.ask({ do: 'spent' });
  if (came !== deltas) throw new Error(`${came} of ${deltas} deltas came`);
  return after.cpuUs - before.cpuUs;
}

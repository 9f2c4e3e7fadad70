// Measures the CPU of a server per event and watcher of one busy session: node streams.mjs <floor|bare|door> <flood|paced> <watchers>
// This process contains all watchers. They connect at the same moment, to a new session for each answer: otherwise each request
// to the provider would repeat all answers before it, which the floor does not do. The measurement starts with a prompt and ends
// when all watchers have received its answer.
import { cpuPerRun } from '../floor/measure.mjs';
import { promptFor } from '../floor/prompts.mjs';
import { headersFor, startServer, submit, untilOver } from './servers.mjs';
import { readAnswer, Watcher } from './watchers.mjs';

/** Long enough that the start and the end of an answer have little weight. */
const DELTAS = { most: 20_000, least: 1_000, delivered: 1_000_000 };

const [kind, work, count] = process.argv.slice(2);
const watchers = Number(count);
const deltas = Math.min(DELTAS.most, Math.max(DELTAS.least, DELTAS.delivered / watchers));
/** In a paced answer, one write of the provider is written to all watchers before the next one arrives. */
const delayMs = { flood: 0, paced: 1 + watchers / 50 }[work];

const server = await startServer(kind);
const prompt = {
  door: (text, sessionId) => submit(server, { sessionId, userPrompt: text, taskType: 'chat' }),
  bare: (text, session) => server.control.ask({ do: 'run', session, prompt: text }),
  floor: (text) => server.control.ask({ do: 'run', prompt: text }),
}[kind];
/** What must have arrived before a watcher has joined. */
const SNAPSHOT = /event: snapshot\n[^]*\n\n$/;
let sessions = 0;
let versions = 1;
const cpuUs = await cpuPerRun(
  () => answer(0),
  () => answer(delayMs),
);
console.log(JSON.stringify({ cpuUs: cpuUs / deltas / watchers, versions }));
process.exit(0);

async function answer(pauseMs) {
  sessions += 1;
  const session = `s${sessions}`;
  // A session exists after its first submission.
  if (kind === 'bare') await server.control.ask({ do: 'open', session });
  if (kind === 'door') await untilOver(server, await prompt(promptFor({ count: 1 }), session));
  const all = await Promise.all(Array.from({ length: watchers }, () => open(session)));
  const [first, ...others] = all;
  const reading = readAnswer(first);
  const before = await server.control.ask({ do: 'spent' });
  await prompt(promptFor({ count: deltas, delayMs: pauseMs }), session);
  const came = await reading;
  await Promise.all(others.map((watcher) => watcher.reach(first.bytes)));
  const after = await server.control.ask({ do: 'spent' });
  if (came !== deltas) throw new Error(`${came} of ${deltas} deltas came`);
  versions = Math.max(versions, new Set(all.map((watcher) => watcher.digest())).size);
  for (const watcher of all) watcher.close();
  return after.cpuUs - before.cpuUs;
}

function open(session) {
  const url = `${server.url}/sessions/${session}/events`;
  return Watcher.open(url, headersFor(server), (text) => kind === 'floor' || SNAPSHOT.test(text));
}

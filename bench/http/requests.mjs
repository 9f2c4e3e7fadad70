// Measures the CPU of a server per request, under a load generator: node requests.mjs <floor|synced|door> <status|running|again|submit>
//
// `status` requests a finished task, `running` a running one; `submit` sends a new task each time, which is queued behind a
// stalled one; `again` repeats the same submission with its idempotency key. The floor returns recorded responses of the door.
import autocannon from 'autocannon';
import { cpuPerRun } from '../floor/measure.mjs';
import { promptFor } from '../floor/prompts.mjs';
import { median } from '../statistics.mjs';
import { headersFor, startServer, submit, untilOver } from './servers.mjs';

const CONNECTIONS = 10;
const AMOUNT = 4_000;
/** Sessions with a stalled task each: new tasks are queued behind it. */
const SESSIONS = 20;

const WORKS = {
  status: async (door) => {
    const taskId = await submit(door, { sessionId: 's', userPrompt: promptFor({ count: 10 }) });
    await untilOver(door, taskId);
    return [{ method: 'GET', path: `/tasks/${taskId}/status` }];
  },
  running: async (door) => [{ method: 'GET', path: `/tasks/${await stall(door, 's')}/status` }],
  again: async (door) => {
    await stall(door, 's');
    return [submission('s', { 'idempotency-key': 'one' })];
  },
  submit: async (door) => {
    const sessions = Array.from({ length: SESSIONS }, (_, index) => `s${index}`);
    for (const session of sessions) await stall(door, session);
    return sessions.map((session) => submission(session));
  },
};

const [kind, work] = process.argv.slice(2);
const door = await startServer('door');
const requests = await WORKS[work](door);
const server = kind === 'door' ? door : await floorWithAnswer(kind, requests[0]);
const rounds = [];
const cpuUs = await cpuPerRun(load, load);
const of = (name) => median(rounds.slice(-4).map((round) => round[name]));
console.log(
  JSON.stringify({ cpuUs: cpuUs / AMOUNT, perSecond: of('perSecond'), p50: of('p50'), p99: of('p99') }),
);
process.exit(0);

/** Resolves with the CPU time of the server. */
async function load() {
  const before = await server.control.ask({ do: 'spent' });
  const [began, loading] = [performance.now(), fire()];
  // autocannon checks only once a second whether it is done, so the end is taken from the answers.
  let ended = began;
  loading.on('response', () => (ended = performance.now()));
  const result = await loading;
  const after = await server.control.ask({ do: 'spent' });
  const good = result['2xx'];
  if (good !== AMOUNT || result.errors > 0)
    throw new Error(`${good} of ${AMOUNT} were answered well, ${result.errors} connections failed`);
  const { p50, p99 } = result.latency;
  rounds.push({ perSecond: AMOUNT / ((ended - began) / 1000), p50, p99 });
  return after.cpuUs - before.cpuUs;
}

function fire() {
  return autocannon({
    url: server.url,
    connections: CONNECTIONS,
    amount: AMOUNT,
    requests: requests.map(({ headers, ...request }) => ({
      ...request,
      headers: { ...headersFor(server), ...headers },
    })),
  });
}

/** A floor that answers as the door does. */
async function floorWithAnswer(floorKind, { method, path, headers, body }) {
  const response = await fetch(`${door.url}${path}`, {
    method,
    headers: { ...headersFor(door), ...headers },
    ...(body && { body }),
  });
  const floor = await startServer(floorKind);
  // The server adds these headers itself.
  const { date, connection, 'keep-alive': keepAlive, ...own } = Object.fromEntries(response.headers);
  await floor.control.ask({ do: 'set_answer', answer: { headers: own, body: await response.text() } });
  return floor;
}

function submission(sessionId, headers = {}) {
  const body = JSON.stringify({ sessionId, userPrompt: 'Look after the garden.', taskType: 'chat' });
  return { method: 'POST', path: '/submit_task', headers, body };
}

/** Submits a task that runs longer than the measurement. */
function stall(at, sessionId) {
  return submit(at, { sessionId, userPrompt: promptFor({ count: 2, batch: 1, delayMs: 600_000 }) });
}

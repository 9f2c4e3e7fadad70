// Measures the HLD door under load: node bench/hld.mjs [--quick]
//
// There are 500 connections, 200 of them subscribers, and 100 concurrent sessions on the simulator, while 300 other clients
// connect, send a request or subscribe, and disconnect. Host, provider and clients are separate processes. Every subscriber must
// receive every event of every session, in the same order.
import { connect } from 'node:net';
import { parseArgs } from 'node:util';
import { requireBuild } from './built.mjs';
import { start, startProvider, scratch } from './floor/processes.mjs';
import { promptFor } from './floor/prompts.mjs';
import { Client } from './hld/client.mjs';
import { atMost, figure, printBars, printResult, table } from './report.mjs';

const { values: options } = parseArgs({ options: { quick: { type: 'boolean' } } });
requireBuild();
const SHARE = options.quick ? 0.2 : 1;
const [SESSIONS, SUBSCRIBERS, CALLERS, GUESTS] = [100, 200, 300, 300].map((full) => full * SHARE);
/** Slow enough that all sessions run at the same time. */
const PROMPT = promptFor({ count: 200, delayMs: 300 });
/** Running, token usage, an answer, completed. */
const EVENTS_OF_A_SESSION = 4;
const MB = 1024 * 1024;

const directory = scratch();
const path = `${directory}/daemon.sock`;
await start(new URL('hld/host.mjs', import.meta.url), [path, await startProvider(), directory]);
const subscribers = await many(SUBSCRIBERS, async () => {
  const client = await Client.open(path);
  await client.call('Subscribe', {});
  return client;
});
const callers = await many(CALLERS, () => Client.open(path));
const before = await spent();
const began = performance.now();
const guests = many(GUESTS, connectAndLeave);
await many(SESSIONS, (index) => callers[index].call('launchSession', { query: PROMPT }));
const launched = performance.now() - began;
const [reference] = subscribers;
await reference.until(() => completed(reference) === SESSIONS);
await Promise.all(
  subscribers.map((client) => client.until(() => client.lines.length >= reference.lines.length)),
);
const tookMs = performance.now() - began;
const after = await spent();
await guests;

const expected = reference.lines.slice(1).join('\n');
const incomplete = subscribers.filter(({ lines }) => lines.slice(1).join('\n') !== expected).length;
const missingEvents = SESSIONS * EVENTS_OF_A_SESSION - (reference.lines.length - 1);
const delivered = (reference.lines.length - 1) * SUBSCRIBERS;
const cpuUs = after.cpuUs - before.cpuUs;
console.log(
  table(
    [
      'sessions',
      'subscribers',
      'connections',
      'at once',
      'launched ms',
      'all done ms',
      'events sent',
      'CPU µs each',
      'RSS MB',
    ],
    [
      [
        SESSIONS,
        SUBSCRIBERS,
        SUBSCRIBERS + CALLERS,
        runningAtOnce(reference),
        figure(launched),
        figure(tookMs),
        delivered,
        figure(cpuUs / delivered),
        figure(after.rss / MB),
      ],
    ],
  ),
);
const bars = [
  atMost('subscribers that did not receive what another did', incomplete, 0),
  atMost('events that were not sent, or sent too often', Math.abs(missingEvents), 0),
  atMost('sessions that did not run at the same time as all others', SESSIONS - runningAtOnce(reference), 0),
  atMost('sessions that did not complete', SESSIONS - completed(reference), 0),
];
printBars(bars);
printResult('hld', bars);
process.exit();

function completed({ lines }) {
  return changesTo('completed', lines).length;
}

/** The highest number of sessions that had started and not ended. */
function runningAtOnce({ lines }) {
  let [now, most] = [0, 0];
  for (const line of lines) {
    now += changesTo('running', [line]).length - changesTo('completed', [line]).length;
    most = Math.max(most, now);
  }
  return most;
}

function changesTo(status, lines) {
  return lines.filter((line) => line.includes(`"new_status":"${status}"`) && !line.includes('token_update'));
}

async function connectAndLeave(index) {
  const guest = await Client.open(path);
  const method = ['Subscribe', 'listSessions', 'health'][index % 3];
  if (index % 2 === 0) await guest.call(method, {});
  else guest.socket.write(`{"jsonrpc":"2.0","method":"${method}","id":1}\n`);
  guest.socket.destroy();
}

async function spent() {
  let text = '';
  for await (const piece of connect(`${path}.spent`)) text += piece;
  return JSON.parse(text);
}

function many(count, make) {
  return Promise.all(Array.from({ length: count }, (_, index) => make(index)));
}

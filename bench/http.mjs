// Measures the tasks door over HTTP, compared with plain node:http that sends the same bytes: node bench/http.mjs [--quick]
//
// autocannon sends the requests over ten connections: the status of a finished task and of a running one, a new task that is
// queued in its session, and the same submission again with its idempotency key. The floor (bench/http/floor.mjs) responds with
// the same bytes as the door and appends a line for each submission. The door also checks key, scope, rate, host and path, and
// writes a new task to disk before it responds; a second floor syncs its line as well. Streams are server-sent events of one busy session: the floor requests the same
// provider, logs, and writes each read to all clients. With one watcher, most of the time is the pod's, so the door is also
// compared with plain node:http on the same pod (bench/http/bare.mjs). Only the server's CPU is counted. Every figure comes from
// new processes; the sides take turns. Figures are medians over the rounds, and ratios are computed within each round. All
// watchers connect at the same moment, and each must receive the same events and every delta.
import { parseArgs } from 'node:util';
import { requireBuild } from './built.mjs';
import { runChild } from './child.mjs';
import { atMost, figure, printBars, printResult, table } from './report.mjs';
import { median } from './statistics.mjs';

const { values: options } = parseArgs({ options: { quick: { type: 'boolean' } } });
requireBuild();
const ROUNDS = options.quick ? 1 : 3;
const REQUESTS = new URL('http/requests.mjs', import.meta.url);
const STREAMS = new URL('http/streams.mjs', import.meta.url);
const SERVERS = ['floor', 'door'];
const WORKS = {
  status: 'status of a task that is over',
  running: 'status of a task that runs',
  submit: 'submit a new task',
  again: 'submit the same again',
};
const WATCHERS = { flood: [1, 50, 1_000], paced: [50, 1_000] };
const REQUEST_BAR = { submit: 4 };
/** The bar of a stream through a pod; the bar of the door itself applies to plain node:http on the same pod. */
const POD_BAR = 3;
const DOOR_BAR = 1.5;

/** The measurements of each round, by server and work. */
const figures = new Map();
for (let round = 0; round < ROUNDS; round++) {
  for (const work of Object.keys(WORKS))
    for (const server of SERVERS) await measure(round, REQUESTS, server, [work]);
  for (const [work, counts] of Object.entries(WATCHERS))
    for (const watchers of counts)
      for (const server of SERVERS) await measure(round, STREAMS, server, [work, watchers]);
  await measure(round, REQUESTS, 'synced', ['submit']);
  await measure(round, STREAMS, 'bare', ['flood', 1]);
}

const requestRows = Object.entries(WORKS).flatMap(([work, name]) =>
  SERVERS.map((server) => [`${name}, ${server}`, ...requestCells(server, work)]),
);
requestRows.push([`${WORKS.submit}, floor that syncs`, ...requestCells('synced', 'submit')]);
console.log(`${table(['requests', 'CPU µs', 'per second', 'p50 ms', 'p99 ms'], requestRows)}\n`);
const streamRows = Object.entries(WATCHERS).flatMap(([work, counts]) =>
  SERVERS.map((server) => [
    `${work}, ${server}`,
    ...[1, 50, 1_000].map((watchers) =>
      counts.includes(watchers) ? cell(server, `${work} ${watchers}`, 'cpuUs') : '-',
    ),
  ]),
);
console.log(`${table(['CPU µs per event and watcher, watchers', 1, 50, 1_000], streamRows)}\n`);

const streams = Object.entries(WATCHERS).flatMap(([work, counts]) => counts.map((count) => [work, count]));
const bars = [
  ...Object.entries(WORKS).map(([work, name]) =>
    atMost(`${name}: door / floor`, ratio(work), REQUEST_BAR[work] ?? 2),
  ),
  atMost(`${WORKS.submit}: door / floor that syncs`, ratio('submit', 'synced'), REQUEST_BAR.submit),
  ...streams.map(([work, watchers]) =>
    atMost(
      `${work}, ${watchers} watchers: door / floor`,
      ratio(`${work} ${watchers}`),
      watchers === 1 ? POD_BAR : DOOR_BAR,
    ),
  ),
  atMost('flood, 1 watcher: door / node:http on the same pod', ratio('flood 1', 'bare'), DOOR_BAR),
  atMost('streams that differ from others', Math.max(...streams.map(differingStreams)), 0),
];
printBars(bars);
printResult('http', bars);

async function measure(round, point, server, args) {
  const came = await runChild(point, [server, ...args]);
  const key = `${server} ${args.join(' ')}`;
  figures.set(key, [...(figures.get(key) ?? []), came]);
  console.error(`round ${round + 1}/${ROUNDS}  ${key}  ${figure(came.cpuUs)} µs`);
}

function requestCells(server, work) {
  return ['cpuUs', 'perSecond', 'p50', 'p99'].map((what) => cell(server, work, what));
}

function cell(server, work, what) {
  return figure(median(figures.get(`${server} ${work}`).map((round) => round[what])));
}

function ratio(work, base = 'floor') {
  const bases = figures.get(`${base} ${work}`);
  return median(figures.get(`door ${work}`).map(({ cpuUs }, round) => cpuUs / bases[round].cpuUs));
}

function differingStreams([work, watchers]) {
  return Math.max(...figures.get(`door ${work} ${watchers}`).map(({ versions }) => versions - 1));
}

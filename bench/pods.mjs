// Measures many pods in one process, streaming concurrently, streaming slowly, hibernated and idle: node bench/pods.mjs [--quick]
//
// At once: 10 clients in another process, one pod each, 2,000 deltas each; the host's CPU compared with the floor host.
// Paced: 1,000 pods that each receive a delta every half second, with a watcher in the process for each. RSS is the maximum while
// they stream, and includes each pod's connection to the provider. Hibernated: 10,000 pods that had a run and were unloaded. The
// figure is the memory in use after garbage collection (heap and buffers), because a process does not return freed memory to the
// system. Idle: a host with 10 watched pods whose runs are over. All its threads are measured from outside: CPU time and the
// number of wake-ups, after the periodic work that Node does some seconds after a load has ended. Every figure comes from a new
// process; the sides take turns. Figures are medians.
import { parseArgs } from 'node:util';
import { requireBuild } from './built.mjs';
import { runChild } from './child.mjs';
import { atMost, figure, printBars, printResult, table } from './report.mjs';
import { median } from './statistics.mjs';

const { values: options } = parseArgs({ options: { quick: { type: 'boolean' } } });
requireBuild();
const ROUNDS = options.quick ? 2 : 5;
const LIVE = 1_000;
const ASLEEP = options.quick ? 2_000 : 10_000;
const KB = 1024;
const MB = KB * KB;
const point = (name, ...args) =>
  runChild(new URL(`pods/${name}.mjs`, import.meta.url), args, { flags: ['--expose-gc'] });

const atOnce = { floor: [], pod: [] };
for (let round = 0; round < ROUNDS; round++) {
  for (const kind of ['floor', 'pod']) {
    const { cpuUs } = await point('at-once', kind);
    atOnce[kind].push(cpuUs);
    console.error(`round ${round + 1}/${ROUNDS}  ${kind}  ${figure(cpuUs / 1000)} ms`);
  }
}
const paced = await point('paced', LIVE);
console.error(`${LIVE} paced pods  ${figure(paced.rss / MB)} MB`);
const asleep = await point('hibernated', ASLEEP);
console.error(`${ASLEEP} hibernated pods  ${figure(asleep.held / KB)} KB each`);
const idle = {
  floor: await point('idle', 'floor'),
  pod: await point('idle', 'pod'),
  'polypod serve': await point('idle-daemon'),
};

console.log(
  table(
    ['10 pods × 2,000 deltas', 'CPU ms'],
    Object.entries(atOnce).map(([kind, values]) => [kind, figure(median(values) / 1000)]),
  ),
);
console.log(
  `\n${table(
    ['pods', 'number', 'RSS MB', 'KB each', 'deltas', 'lost', 'CPU µs a delta'],
    [
      [
        'streaming',
        LIVE,
        figure(paced.rss / MB),
        figure((paced.rss - paced.before) / LIVE / KB),
        paced.deltas,
        paced.lost,
        figure(paced.cpuUs),
      ],
      ['hibernated', ASLEEP, figure(asleep.rss / MB), figure(asleep.held / KB), '-', '-', '-'],
    ],
  )}\n`,
);
const idleRows = Object.entries(idle).map(([kind, { cpuMs, wakeUps }]) => [
  kind,
  cpuMs.toFixed(3),
  wakeUps.toFixed(2),
]);
console.log(`${table(['idle host', 'CPU ms/s', 'wake-ups/s'], idleRows)}\n`);

const bars = [
  atMost(
    '10 × 2,000 at once: pod / floor',
    median(atOnce.pod.map((value, round) => value / atOnce.floor[round])),
    3,
  ),
  atMost(`${LIVE} streaming: deltas lost`, paced.lost, 0),
  atMost(`${LIVE} streaming: RSS MB`, paced.rss / MB, 100 + (LIVE * 60) / KB),
  atMost(`${ASLEEP} hibernated: KB each`, asleep.held / KB, 2),
  // Less than half of the unit counts as zero.
  ...['pod', 'polypod serve'].flatMap((kind) => [
    atMost(`idle ${kind}: CPU ms/s`, Math.round(idle[kind].cpuMs), 0),
    atMost(`idle ${kind}: wake-ups/s`, idle[kind].wakeUps, 0.1),
  ]),
];
printBars(bars);
printResult('pods', bars);

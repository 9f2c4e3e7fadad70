// Measures one pod's deltas to many watchers on its socket, compared with a minimal host: node bench/fanout.mjs [--quick]
//
// The provider simulator, the host and the watchers are three processes, and only the host's CPU is counted. Watchers are plain
// connections of the Pod Protocol on a Unix socket. The floor (bench/fanout/floor-host.mjs) is the floor host with the same number
// of subscribers: it encodes a delta in the same format and omits the rest of the protocol, mainly the full text at the end. The
// figure is the CPU of the host per delta and watcher: with one watcher it is mostly the stream, with a thousand it is mostly the
// writes. Every watcher must receive every byte, except the one that never reads, which is not counted.
//
// A flood is as fast as the provider can send. A busy host finds more data to write together, so two hosts may send the same
// deltas with very different numbers of writes, and the one that writes less often looks cheaper. Where writes dominate the cost,
// there is also a paced stream, in which both hosts write every delta separately; the number of reads per watcher shows the
// difference. Every figure comes from new processes; the sides take turns. Figures are medians over the rounds, and ratios are
// computed within each round.
import { parseArgs } from 'node:util';
import { requireBuild } from './built.mjs';
import { runChild } from './child.mjs';
import { atMost, figure, printBars, printResult, table } from './report.mjs';
import { median } from './statistics.mjs';

const { values: options } = parseArgs({ options: { quick: { type: 'boolean' } } });
requireBuild();
const ROUNDS = options.quick ? 2 : 5;
const POINT = new URL('fanout/point.mjs', import.meta.url);
const WATCHERS = { flood: [1, 10, 50, 200, 1_000], paced: [50, 200, 1_000] };
/** Beside how many watchers one sits that never reads: paced, since a flood's figures differ more than it could cost. */
const BESIDE = 50;
const HOSTS = [
  { name: 'floor', kind: 'floor', idle: 0 },
  { name: 'pod', kind: 'pod', idle: 0 },
];
const BESIDE_IDLE = { name: 'pod, one never reads', kind: 'pod', idle: 1 };

/** By work, host and number of watchers: `{ cpuUs, reads }` of each round, the CPU for each delivery. */
const figures = new Map();
for (let round = 0; round < ROUNDS; round++) {
  for (const [work, counts] of Object.entries(WATCHERS)) {
    for (const watchers of counts) {
      for (const { name, kind, idle } of hostsFor(work, watchers)) {
        const came = await runChild(POINT, [kind, work, watchers, idle]);
        const key = `${work} ${name} ${watchers}`;
        figures.set(key, [...(figures.get(key) ?? []), came]);
        console.error(`round ${round + 1}/${ROUNDS}  ${key}  ${figure(came.cpuUs)} µs  ${came.reads} reads`);
      }
    }
  }
}

for (const [work, counts] of Object.entries(WATCHERS)) {
  const rows = hostsFor(work, BESIDE).flatMap(({ name }) => [
    [`${name}, CPU µs per delivery`, ...counts.map((watchers) => cell(work, name, watchers, 'cpuUs'))],
    [`${name}, reads of a watcher`, ...counts.map((watchers) => cell(work, name, watchers, 'reads'))],
  ]);
  console.log(`${table([`${work}, watchers`, ...counts], rows)}\n`);
}
const bars = [
  ...Object.entries(WATCHERS).flatMap(([work, counts]) =>
    counts.map((watchers) =>
      atMost(`${work}, ${watchers} watchers: pod / floor`, ratio(work, 'pod', 'floor', watchers), 2),
    ),
  ),
  atMost(
    `one that never reads beside ${BESIDE}: with / without`,
    ratio('paced', BESIDE_IDLE.name, 'pod', BESIDE),
    1.1,
  ),
];
printBars(bars);
printResult('fanout', bars);

function hostsFor(work, watchers) {
  return work === 'paced' && watchers === BESIDE ? [...HOSTS, BESIDE_IDLE] : HOSTS;
}

function cell(work, name, watchers, what) {
  const rounds = figures.get(`${work} ${name} ${watchers}`);
  return rounds === undefined ? '-' : figure(median(rounds.map((round) => round[what])));
}

function ratio(work, name, other, watchers) {
  const others = figures.get(`${work} ${other} ${watchers}`);
  return median(
    figures.get(`${work} ${name} ${watchers}`).map(({ cpuUs }, round) => cpuUs / others[round].cpuUs),
  );
}

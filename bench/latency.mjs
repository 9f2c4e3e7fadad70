// Measures the time of a paced delta from the provider's write to the client's read: node bench/latency.mjs [--quick]
//
// The provider, each host and the client are separate processes. The text of a delta contains its write time, from the clock that
// all processes of a machine share; the client reads that clock when the bytes arrive. The pod's door and the floor host use the
// Pod Protocol on a Unix socket (bench/fanout/); `direct` reads the provider without a host, for comparison. Every round uses new
// processes, and the routes take turns within it. Figures are medians over the rounds, and ratios are computed within each round.
import { parseArgs } from 'node:util';
import { requireBuild } from './built.mjs';
import { runChild } from './child.mjs';
import { atMost, figure, printBars, printResult, table } from './report.mjs';
import { median } from './statistics.mjs';

const { values: options } = parseArgs({ options: { quick: { type: 'boolean' } } });
requireBuild();
const ROUNDS = options.quick ? 2 : 5;
const ANSWERS = options.quick ? 4 : 8;
const POINT = new URL('latency/point.mjs', import.meta.url);

/** Milliseconds by route, for each round. */
const rounds = [];
for (let round = 0; round < ROUNDS; round++) {
  const figures = await runChild(POINT, [ANSWERS]);
  rounds.push(figures);
  for (const [route, { p50, p99 }] of Object.entries(figures))
    console.error(`round ${round + 1}/${ROUNDS}  ${route}  p50 ${figure(p50)}  p99 ${figure(p99)} ms`);
}

const rows = ['direct', 'floor', 'pod'].map((route) => [
  route,
  ...['p50', 'p99'].map((share) => figure(median(rounds.map((round) => round[route][share])))),
]);
console.log(`${table(['ms from write to read', 'p50', 'p99'], rows)}\n`);
const bars = [atMost('p50: pod / floor', ratio('p50'), 1.5), atMost('p99: pod / floor', ratio('p99'), 2)];
printBars(bars);
printResult('latency', bars);

function ratio(share) {
  return median(rounds.map(({ pod, floor }) => pod[share] / floor[share]));
}

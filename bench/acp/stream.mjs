// Measures deltas through `polypod acp`, which hosts the session in its own process, and through a daemon.
//
// The provider simulator, the program and the editor are three processes, and only the CPU of the program, and of the daemon that it
// uses, is counted; the log has its default durability. The floor is bench/floor/host.mjs. Every figure comes from new processes; floor and program take turns.
// Figures are medians over the rounds, and ratios and exponents are computed within each round.
import { runChild } from '../child.mjs';
import { atMost, figure, table } from '../report.mjs';
import { growthExponent, median } from '../statistics.mjs';

const FLOOR = new URL('../stream/point.mjs', import.meta.url);
const ACP = new URL('point.mjs', import.meta.url);
const COMPARED = 20_000;

/** Prints the figures and returns the bars. */
export async function benchStream({ rounds, counts }) {
  const figures = [];
  for (let round = 0; round < rounds; round++)
    for (const count of counts) {
      const floor = await runChild(FLOOR, ['floor', 'text', count]);
      const acp = await runChild(ACP, ['process', 'text', count]);
      const daemon = await runChild(ACP, ['daemon', 'text', count]);
      figures.push({
        round,
        count,
        floor: floor.cpuUs / count,
        acp: acp.cpuUs / count,
        daemon: daemon.cpuUs / count,
        ...sizes(acp, count),
      });
      const { floor: floorUs, acp: acpUs, daemon: daemonUs } = figures.at(-1);
      console.error(
        `round ${round + 1}/${rounds}  ${count} deltas  floor ${figure(floorUs)}  acp ${figure(acpUs)}  with daemon ${figure(daemonUs)} µs`,
      );
    }
  const middle = (count, what) => figure(median(at(figures, count).map((value) => value[what])));
  const row = (name, what) => [name, ...counts.map((count) => middle(count, what))];
  const rows = [row('floor', 'floor'), row('acp', 'acp'), row('acp with daemon', 'daemon')];
  console.log(`${table(['CPU µs per delta', ...counts], rows)}\n`);
  console.log(
    `${table(['acp', ...counts], [row('bytes per delta', 'bytes'), row('ms to the end', 'wallMs')])}\n`,
  );
  const ratios = at(figures, COMPARED).map(({ acp, floor }) => acp / floor);
  const bars = [atMost(`acp / floor at ${COMPARED} deltas`, median(ratios), 4)];
  if (counts.length < 2) return bars;
  const exponents = Array.from({ length: rounds }, (_, round) =>
    growthExponent(
      figures
        .filter((value) => value.round === round)
        .map(({ count, acp }) => ({ size: count, cost: count * acp })),
    ),
  );
  return [...bars, atMost('growth exponent', median(exponents), 1.05)];
}

const at = (figures, count) => figures.filter((value) => value.count === count);
const sizes = ({ bytes, wallMs }, count) => ({ bytes: bytes / count, wallMs });

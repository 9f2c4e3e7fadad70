// Measures the latency of paced deltas over every route, in turns: node point.mjs <answers of each>
// This process is the client. Answers are short, so that a temporary disturbance of the machine affects every route.
import { start } from '../floor/processes.mjs';
import { promptFor } from '../floor/prompts.mjs';
import { direct, through } from './routes.mjs';

const PACED = { count: 500, batch: 1, delayMs: 4 };
/** As fast as possible: a host runs for days, so its hot functions are already compiled. */
const WARM_UP = { count: 20_000 };

const answers = Number(process.argv[2]);
const { output } = await start(new URL('provider.mjs', import.meta.url));
const routes = {
  direct: direct(output.url),
  floor: await through('floor', output.url),
  pod: await through('pod', output.url),
};
const ages = { direct: [], floor: [], pod: [] };
for (const ask of Object.values(routes)) await ask(promptFor(WARM_UP));
for (let answer = 0; answer < answers; answer += 1)
  for (const [name, ask] of Object.entries(routes)) {
    const came = await ask(promptFor(PACED));
    if (came.length !== PACED.count) throw new Error(`${name}: ${came.length} of ${PACED.count} deltas came`);
    ages[name].push(...came);
  }
console.log(
  JSON.stringify(Object.fromEntries(Object.entries(ages).map(([name, all]) => [name, spread(all)]))),
);
process.exit(0);

function spread(all) {
  const sorted = all.toSorted((one, other) => one - other);
  const at = (share) => sorted[Math.ceil(sorted.length * share) - 1];
  return { p50: at(0.5), p99: at(0.99) };
}

// Measures the CPU of a host for one answer to one client: node point.mjs <floor|pod> <text|tool> <count>
// This process is the client. The session is opened before and closed after the measurement, which covers the prompt and its answer.
import { Client } from '../floor/client.mjs';
import { cpuPerRun } from '../floor/measure.mjs';
import { startHost } from '../floor/processes.mjs';
import { promptFor } from '../floor/prompts.mjs';

/** The shortest measured length for every point, so that all start equally warm. */
const WARM_UP_COUNT = { text: 2000, tool: 500 };

const [kind, work, count] = process.argv.slice(2);
const { path } = await startHost(kind);
const client = await Client.connect(path, kind);
const cpuUs = await cpuPerRun(
  () => answer(WARM_UP_COUNT[work]),
  () => answer(Number(count)),
);
console.log(JSON.stringify({ cpuUs }));
process.exit(0);

async function answer(deltas) {
  const { session } = await client.ask({ do: 'open' });
  const before = await client.ask({ do: 'spent' });
  const came = await client.prompt(session, promptFor({ work, count: deltas }));
  const after = await client.ask({ do: 'spent' });
  if (came.deltas < deltas) throw new Error(`${came.deltas} of ${deltas} deltas came`);
  await client.ask({ do: 'close', session });
  return after.cpuUs - before.cpuUs;
}

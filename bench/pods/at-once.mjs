// Measures the CPU of a host for 10 concurrent answers, each to its own client: node at-once.mjs <floor|pod>
import { Client } from '../floor/client.mjs';
import { cpuPerRun } from '../floor/measure.mjs';
import { startHost } from '../floor/processes.mjs';
import { promptFor } from '../floor/prompts.mjs';

const SESSIONS = 10;
const DELTAS = 2_000;

const [kind] = process.argv.slice(2);
const { path } = await startHost(kind);
const clients = await Promise.all(Array.from({ length: SESSIONS }, () => Client.connect(path, kind)));
console.log(JSON.stringify({ cpuUs: await cpuPerRun(answers, answers) }));
process.exit(0);

async function answers() {
  const opened = await Promise.all(clients.map((client) => client.ask({ do: 'open' })));
  const before = await clients[0].ask({ do: 'spent' });
  const came = await Promise.all(
    clients.map((client, at) => client.prompt(opened[at].session, promptFor({ count: DELTAS }))),
  );
  const after = await clients[0].ask({ do: 'spent' });
  for (const { deltas } of came) if (deltas < DELTAS) throw new Error(`${deltas} of ${DELTAS} deltas came`);
  await Promise.all(clients.map((client, at) => client.ask({ do: 'close', session: opened[at].session })));
  return after.cpuUs - before.cpuUs;
}

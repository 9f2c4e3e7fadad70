// The CPU use of an idle host, measured from outside: node idle.mjs <floor|pod>
import { Client } from '../floor/client.mjs';
import { startHost } from '../floor/processes.mjs';
import { promptFor } from '../floor/prompts.mjs';
import { idleOf } from './idle-process.mjs';

const SESSIONS = 10;

const [kind] = process.argv.slice(2);
const { path, pid } = await startHost(kind);
for (let made = 0; made < SESSIONS; made += 1) {
  const client = await Client.connect(path, kind);
  const { session } = await client.ask({ do: 'open' });
  await client.prompt(session, promptFor({ count: 100 }));
}
console.log(JSON.stringify(await idleOf(pid)));
process.exit(0);

// Measures the CPU of `polypod acp`, and of a daemon that it uses, for one answer: node point.mjs <process|daemon> <text|tool> <count>
// This process is the editor. Every answer has its own session.
import { cpuPerRun } from '../floor/measure.mjs';
import { startProvider } from '../floor/processes.mjs';
import { promptFor } from '../floor/prompts.mjs';
import { Agent, polypod, polypodWithDaemon } from './agents.mjs';

const [host, work, count] = process.argv.slice(2);
const start = { process: polypod, daemon: polypodWithDaemon }[host];
const agent = new Agent(await start(await startProvider()));
await agent.initialize();
let [bytes, wallMs] = [0, 0];
const cpuUs = await cpuPerRun(
  () => answer(Math.min(2000, Number(count))),
  () => answer(Number(count)),
);
console.log(JSON.stringify({ cpuUs, bytes, wallMs }));
process.exit(0);

async function answer(deltas) {
  const session = await agent.open();
  const [spent, written, began] = [agent.cpuUs, agent.bytes, performance.now()];
  await agent.prompt(session, promptFor({ work, count: deltas }));
  [bytes, wallMs] = [agent.bytes - written, performance.now() - began];
  return agent.cpuUs - spent;
}

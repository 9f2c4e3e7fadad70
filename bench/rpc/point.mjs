// Measures the CPU of a program in RPC mode for one answer: node point.mjs <polypod|pi> <text|tool> <count>
// This process is the client. Every answer has its own session.
import { cpuPerRun } from '../floor/measure.mjs';
import { startProvider } from '../floor/processes.mjs';
import { promptFor } from '../floor/prompts.mjs';
import { PROGRAMS, RpcProgram } from './programs.mjs';

const [kind, work, count] = process.argv.slice(2);
const program = new RpcProgram(PROGRAMS[kind](await startProvider()));
await program.ask('get_state');
let [bytes, wallMs] = [0, 0];
const cpuUs = await cpuPerRun(
  () => answer(Math.min(2000, Number(count))),
  () => answer(Number(count)),
);
console.log(JSON.stringify({ cpuUs, bytes, wallMs }));
process.exit(0);

async function answer(deltas) {
  await program.ask('new_session');
  const [spent, written, began] = [program.cpuUs, program.bytes, performance.now()];
  await program.prompt(promptFor({ work, count: deltas }));
  bytes = program.bytes - written;
  wallMs = performance.now() - began;
  return program.cpuUs - spent;
}

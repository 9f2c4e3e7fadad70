import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';

/** Time for kept-alive connections to end and for a last garbage collection. */
const SETTLE_MS = 20_000;
const WINDOW_MS = 40_000;

/** The CPU milliseconds and wake-ups per second of an idle process, measured from outside. */
export async function idleOf(pid) {
  await setTimeout(SETTLE_MS);
  const before = threadsOf(pid);
  await setTimeout(WINDOW_MS);
  const after = threadsOf(pid);
  const seconds = WINDOW_MS / 1000;
  return {
    cpuMs: (after.cpuNs - before.cpuNs) / 1e6 / seconds,
    wakeUps: (after.switches - before.switches) / seconds,
  };
}

/** Nanoseconds on the CPU, and the number of voluntary context switches, of all threads. */
function threadsOf(process) {
  let cpuNs = 0;
  let switches = 0;
  for (const thread of readdirSync(`/proc/${process}/task`)) {
    const task = `/proc/${process}/task/${thread}`;
    cpuNs += Number(readFileSync(`${task}/schedstat`, 'utf8').split(' ')[0]);
    switches += Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(readFileSync(`${task}/status`, 'utf8'))[1]);
  }
  return { cpuNs, switches };
}

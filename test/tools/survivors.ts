import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { processCommandLine, hasOpen, listProcesses } from '../../src/tools/process/process-list.ts';

let count = 0;

/** A number that no other process has in its command line; a valid argument for `sleep`. */
export function token(): string {
  count += 1;
  return `${process.pid}${String(count).padStart(4, '0')}${Math.floor(Math.random() * 1e6) + 1e6}`;
}

/** Returns the running processes with the token in their command line. */
export function survivorsOf(mark: string): readonly string[] {
  if (process.platform !== 'linux') {
    const lines = execFileSync('ps', ['-A', '-o', 'pid=,command='], { encoding: 'utf8' }).split('\n');
    return lines.filter((line) => line.includes(mark));
  }
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => threadsIn(`/proc/${pid}/task`).map((thread) => `/proc/${pid}/task/${thread}`))
    .flatMap((thread) => {
      try {
        const command = readFileSync(`${thread}/cmdline`, 'utf8').replaceAll('\0', ' ');
        const state = readFileSync(`${thread}/stat`, 'latin1').replace(/^.*\) /s, '')[0];
        return command.includes(mark) && state !== 'Z' ? [`${thread} ${state} ${command}`] : [];
      } catch {
        return [];
      }
    });
}

/** The threads of a process: the main thread may have ended before the others. */
function threadsIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/** Returns the processes that have a file of a directory open. Linux only. */
export async function holdersOf(directory: string): Promise<readonly string[]> {
  const holders = (await listProcesses()).filter((one) => hasOpen(one, [`${directory}/`]));
  return holders.map(processCommandLine);
}

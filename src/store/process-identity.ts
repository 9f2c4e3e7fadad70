import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

/** One process among all that ever were: a number is given again after a while, and after a restart of the machine. */
export interface ProcessIdentity {
  readonly pid: number;
  /** As the operating system says it; only ever compared. */
  readonly startedAt: string;
  readonly bootId: string;
  readonly host: string;
}

/** What can be known about a process from here. Of one on another machine nothing can. */
export type ProcessState = 'alive' | 'dead' | 'elsewhere';

let mine: ProcessIdentity | undefined;

/** This process. */
export function thisProcess(): ProcessIdentity {
  mine ??= {
    pid: process.pid,
    startedAt: startOf(process.pid) ?? '',
    bootId: bootId(),
    host: hostname(),
  };
  return mine;
}

export function stateOfProcess(of: ProcessIdentity): ProcessState {
  const here = thisProcess();
  if (of.host !== here.host) return 'elsewhere';
  if (of.bootId !== here.bootId) return 'dead';
  return startOf(of.pid) === of.startedAt ? 'alive' : 'dead';
}

/** Tells a process from all others that have, had or will have its number; undefined if there is no such process. */
export function processBirth(pid: number): string | undefined {
  const start = startOf(pid);
  return start === undefined ? undefined : `${bootId()} ${start}`;
}

/** Undefined if there is no such process, or only its exit code is left of it. */
function startOf(pid: number): string | undefined {
  return process.platform === 'linux' ? startInProc(pid) : startByPs(pid);
}

function startInProc(pid: number): string | undefined {
  const text = attempt(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  // The second field is the program's name, in parentheses and with whatever it likes inside.
  const [state, ...fields] = text?.slice(text.lastIndexOf(')') + 2).split(' ') ?? [];
  return state === undefined || state === 'Z' || state === 'X' ? undefined : fields[18];
}

function startByPs(pid: number): string | undefined {
  const text = attempt(() => run('ps', ['-o', 'stat=,lstart=', '-p', String(pid)]))?.trim();
  const [, state, start] = /^(\S+)\s+(.+)$/.exec(text ?? '') ?? [];
  return state === undefined || state.startsWith('Z') ? undefined : start;
}

function bootId(): string {
  const text =
    process.platform === 'linux'
      ? attempt(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8'))
      : attempt(() => run('sysctl', ['-n', 'kern.bootsessionuuid']));
  return text?.trim() ?? '';
}

function run(program: string, args: readonly string[]): string {
  // The clock's language and zone are part of what `ps` prints, and two processes may have different ones.
  const env = { PATH: '/bin:/usr/bin:/usr/sbin:/sbin', LC_ALL: 'C', TZ: 'UTC' };
  return execFileSync(program, args, { encoding: 'utf8', env, stdio: ['ignore', 'pipe', 'ignore'] });
}

function attempt(read: () => string): string | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

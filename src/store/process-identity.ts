import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { tryOrUndefined } from '../base/index.ts';

/** Identifies a process uniquely: process ids are reused, also after a reboot. */
export interface ProcessIdentity {
  readonly pid: number;
  /** In the operating system's format; only compared, never parsed. */
  readonly startedAt: string;
  readonly bootId: string;
  readonly host: string;
}

/** Whether a process is alive. The state of a process on another machine is unknown (`elsewhere`). */
export type ProcessState = 'alive' | 'dead' | 'elsewhere';

let identity: ProcessIdentity | undefined;

/** This process. */
export function thisProcess(): ProcessIdentity {
  identity ??= {
    pid: process.pid,
    startedAt: startTime(process.pid) ?? '',
    bootId: bootId(),
    host: hostname(),
  };
  return identity;
}

export function processState(of: ProcessIdentity): ProcessState {
  const current = thisProcess();
  if (of.host !== current.host) return 'elsewhere';
  if (of.bootId !== current.bootId) return 'dead';
  return startTime(of.pid) === of.startedAt ? 'alive' : 'dead';
}

/** A string that differs for all processes that ever have this process id; undefined if there is no such process. */
export function processInstanceId(pid: number): string | undefined {
  const start = startTime(pid);
  return start === undefined ? undefined : `${bootId()} ${start}`;
}

/** The start time of a process; undefined if it does not exist or is a zombie. */
function startTime(pid: number): string | undefined {
  return process.platform === 'linux' ? startTimeFromProc(pid) : startTimeFromPs(pid);
}

function startTimeFromProc(pid: number): string | undefined {
  const text = tryOrUndefined(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  // The second field is the program's name in parentheses, which may itself contain parentheses and spaces.
  const [state, ...fields] = text?.slice(text.lastIndexOf(')') + 2).split(' ') ?? [];
  return state === undefined || state === 'Z' || state === 'X' ? undefined : fields[18];
}

function startTimeFromPs(pid: number): string | undefined {
  const text = tryOrUndefined(() => run('ps', ['-o', 'stat=,lstart=', '-p', String(pid)]))?.trim();
  const [, state, start] = /^(\S+)\s+(.+)$/.exec(text ?? '') ?? [];
  return state === undefined || state.startsWith('Z') ? undefined : start;
}

function bootId(): string {
  const text =
    process.platform === 'linux'
      ? tryOrUndefined(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8'))
      : tryOrUndefined(() => run('sysctl', ['-n', 'kern.bootsessionuuid']));
  return text?.trim() ?? '';
}

function run(program: string, args: readonly string[]): string {
  // The output of `ps` depends on locale and time zone, which may differ between processes.
  const env = { PATH: '/bin:/usr/bin:/usr/sbin:/sbin', LC_ALL: 'C', TZ: 'UTC' };
  return execFileSync(program, args, { encoding: 'utf8', env, stdio: ['ignore', 'pipe', 'ignore'] });
}

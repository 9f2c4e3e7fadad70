import { totalmem } from 'node:os';
import { formatBytes } from '../text/shorten.ts';
import { type CommandGroup, type CommandLine, commandGroups, type GroupMechanism } from './command-group.ts';
import { programOnPath } from './on-path.ts';

/** What a command may use. An absent limit does not apply. */
export interface CommandLimits {
  /** Bytes of memory of all its processes together; without control groups, of each. */
  readonly memory?: number;
  /** Concurrent processes and threads. */
  readonly processes?: number;
  /** Bytes of one file that it writes. */
  readonly fileSize?: number;
  /** Open files of one process. */
  readonly openFiles?: number;
  /** Seconds of CPU time of one process. */
  readonly cpuSeconds?: number;
}

/** Large enough for every build that the machine can run: they only stop what would bring the machine down. */
export const DEFAULT_COMMAND_LIMITS: CommandLimits = {
  memory: Math.floor(totalmem() * 0.8),
  processes: 4_096,
  fileSize: 32e9,
};

/** How limits are enforced on this machine. */
export interface LimitState {
  /** For all processes of a command together. */
  readonly group: GroupMechanism['name'];
  /** For each process. */
  readonly each: 'prlimit' | 'ulimit';
  /** A description of what cannot be limited here. */
  readonly unenforced: readonly string[];
}

export interface LimiterOptions {
  readonly limits: CommandLimits;
  /** Whether the user set the memory limit: per process, the default would break programs that reserve a lot. */
  readonly isMemoryStated: boolean;
  readonly env: Readonly<Record<string, string>>;
}

/** A command that is about to run with its limits. */
export interface LimitedCommand {
  /** Adds the limits of single processes to a command line. Used inside a sandbox. */
  readonly inner: (line: CommandLine) => CommandLine;
  /** Puts the command into its group. Used around a sandbox. */
  readonly outer: (line: CommandLine) => CommandLine;
  /** Ends the rest of the group; returns sentences about the limits that the command reached. */
  readonly finish: (end: {
    readonly exitCode: number | null;
    readonly output: string;
  }) => Promise<readonly string[]>;
}

/** Limits what commands use, by the best available mechanism. */
export interface CommandLimiter {
  readonly state: (isolated: boolean) => Promise<LimitState>;
  /**
   * `ownUserNamespace`: whether the command gets one, in which its processes are counted separately from the
   * user's others.
   */
  readonly prepare: (ownUserNamespace: boolean) => Promise<LimitedCommand>;
}

export function commandLimiter({
  limits,
  isMemoryStated: isMemoryConfigured,
  env,
}: LimiterOptions): CommandLimiter {
  const isRoot = process.getuid?.() === 0;
  const rlimitsFor = (group: GroupMechanism, ownUserNamespace: boolean): CommandLimits => {
    const { memory, processes, ...each } = limits;
    return {
      ...each,
      ...(memory !== undefined && isMemoryConfigured && !group.memory ? { memory } : {}),
      // The kernel counts all processes of the user, and does not count those of root.
      ...(processes !== undefined && !group.processes && ownUserNamespace && !isRoot ? { processes } : {}),
    };
  };
  return {
    state: async (ownUserNamespace) => {
      const group = await commandGroups(env);
      const set = rlimitsFor(group, ownUserNamespace);
      const lacking = [
        ...(limits.memory === undefined || group.memory || set.memory !== undefined ? [] : ['memory']),
        ...(limits.processes === undefined || group.processes || set.processes !== undefined
          ? []
          : ['the number of processes']),
      ];
      return {
        group: group.name,
        each: (await programOnPath('prlimit', env)) === undefined ? 'ulimit' : 'prlimit',
        unenforced: lacking,
      };
    },
    prepare: async (ownUserNamespace) => {
      const groups = await commandGroups(env);
      const set = rlimitsFor(groups, ownUserNamespace);
      const prlimit = await programOnPath('prlimit', env);
      let group: CommandGroup | undefined;
      return {
        inner: (line) => withLimits(line, set, prlimit),
        outer: (commandLine) => {
          group = groups.open({ memory: limits.memory, processes: limits.processes });
          return group?.enter(commandLine) ?? commandLine;
        },
        finish: async ({ exitCode, output }) =>
          limitNotes(limits, set, await group?.finish(), exitCode, output),
      };
    },
  };
}

function withLimits(line: CommandLine, limits: CommandLimits, prlimit: string | undefined): CommandLine {
  const { memory, processes, fileSize, openFiles, cpuSeconds } = limits;
  const stated = Object.values(limits).filter((limit) => limit !== undefined);
  if (stated.length === 0) return line;
  const [program, args] = line;
  if (prlimit !== undefined) {
    const options = [
      ...(memory === undefined ? [] : [`--data=${memory}`]),
      ...(processes === undefined ? [] : [`--nproc=${processes}`]),
      ...(fileSize === undefined ? [] : [`--fsize=${fileSize}`]),
      ...(openFiles === undefined ? [] : [`--nofile=${openFiles}`]),
      ...(cpuSeconds === undefined ? [] : [`--cpu=${cpuSeconds}:${cpuSeconds + CPU_GRACE_SECONDS}`]),
    ];
    return [prlimit, [...options, '--', program, ...args]];
  }
  const settings = [
    ...(memory === undefined ? [] : [`ulimit -d ${Math.ceil(memory / 1024)}`]),
    // In blocks of 512 bytes.
    ...(fileSize === undefined ? [] : [`ulimit -f ${Math.ceil(fileSize / 512)}`]),
    ...(openFiles === undefined ? [] : [`ulimit -n ${openFiles}`]),
    ...(cpuSeconds === undefined ? [] : [`ulimit -t ${cpuSeconds}`]),
  ];
  // A limit above the current one is rejected and not needed.
  const script = [...settings.map((setting) => `${setting} 2>/dev/null`), 'exec "$@"'].join('; ');
  return ['/bin/sh', ['-c', script, 'sh', program, ...args]];
}

function limitNotes(
  limits: CommandLimits,
  set: CommandLimits,
  reached: Awaited<ReturnType<CommandGroup['finish']>> | undefined,
  exitCode: number | null,
  output: string,
): readonly string[] {
  const end = output.slice(-TAIL);
  const { memory, processes, fileSize, cpuSeconds } = limits;
  const isOut = reached?.memory ?? (set.memory !== undefined && exitCode !== 0 && NO_MEMORY.test(end));
  const isCrowded = reached?.processes ?? (set.processes !== undefined && NO_PROCESS.test(end));
  return [
    ...(isOut && memory !== undefined
      ? [
          `a process was ended because the command used more than ${formatBytes(memory)} of memory (limits.commands.memory)`,
        ]
      : []),
    ...(isCrowded && processes !== undefined
      ? [`the command reached its limit of ${processes} processes and threads (limits.commands.processes)`]
      : []),
    ...(fileSize !== undefined && (exitCode === 153 || TOO_LARGE.test(end))
      ? [`a file reached the limit of ${formatBytes(fileSize)} (limits.commands.file_size)`]
      : []),
    ...(cpuSeconds !== undefined && (exitCode === 152 || NO_TIME.test(end))
      ? [`a process used more than ${cpuSeconds} seconds of CPU time (limits.commands.cpu)`]
      : []),
  ];
}

/** What system messages and common languages print, in the most common locale. */
const NO_MEMORY = /cannot allocate memory|out of memory|bad_alloc|MemoryError|ENOMEM/i;
const NO_PROCESS = /(?:fork|clone|thread|process)[^\n]*resource temporarily unavailable|EAGAIN/i;
const TOO_LARGE = /file too large|file size limit exceeded|EFBIG/i;
const NO_TIME = /CPU time limit exceeded/i;
const TAIL = 4_096;
const CPU_GRACE_SECONDS = 5;

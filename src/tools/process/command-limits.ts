import { totalmem } from 'node:os';
import { sized } from '../text/shorten.ts';
import { type CommandGroup, type CommandLine, commandGroups, type GroupMechanism } from './command-group.ts';
import { programOnPath } from './on-path.ts';

/** What a command may use. A limit that is absent does not hold. */
export interface CommandLimits {
  /** Bytes of memory of all its processes together; without control groups, of each. */
  readonly memory?: number;
  /** Processes and threads at the same time. */
  readonly processes?: number;
  /** Bytes of one file that it writes. */
  readonly fileSize?: number;
  /** Open files of one process. */
  readonly openFiles?: number;
  /** Seconds of CPU time of one process. */
  readonly cpuSeconds?: number;
}

/** Wide enough for every build that the machine can do: they stop what would take the machine down. */
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
  /** What cannot be limited here, in words. */
  readonly unenforced: readonly string[];
}

export interface LimiterOptions {
  readonly limits: CommandLimits;
  /** Whether the memory limit is the user's: per process, the default would break programs that reserve a lot. */
  readonly isMemoryStated: boolean;
  readonly env: Readonly<Record<string, string>>;
}

/** A command that is about to run within its limits. */
export interface LimitedCommand {
  /** Puts the limits of single processes before a command line. It belongs inside of a sandbox. */
  readonly inner: (line: CommandLine) => CommandLine;
  /** Puts the command into its group. It belongs around a sandbox. */
  readonly outer: (line: CommandLine) => CommandLine;
  /** Ends what is left of the group; tells in sentences which limits the command has met. */
  readonly finish: (end: {
    readonly exitCode: number | null;
    readonly output: string;
  }) => Promise<readonly string[]>;
}

/** Limits what commands use, by the best mechanism that works here. */
export interface CommandLimiter {
  readonly state: (isolated: boolean) => Promise<LimitState>;
  /** `ownUserNamespace`: whether the command gets one, in which its processes are counted apart from the user's others. */
  readonly prepare: (ownUserNamespace: boolean) => Promise<LimitedCommand>;
}

export function commandLimiter({ limits, isMemoryStated, env }: LimiterOptions): CommandLimiter {
  const isRoot = process.getuid?.() === 0;
  const rlimitsFor = (group: GroupMechanism, ownUserNamespace: boolean): CommandLimits => {
    const { memory, processes, ...each } = limits;
    return {
      ...each,
      ...(memory !== undefined && isMemoryStated && !group.memory ? { memory } : {}),
      // The kernel counts all processes of the user, and does not count root's at all.
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
        inner: (line) => limited(line, set, prlimit),
        outer: (inside) => {
          group = groups.open({ memory: limits.memory, processes: limits.processes });
          return group?.enter(inside) ?? inside;
        },
        finish: async ({ exitCode, output }) => notes(limits, set, await group?.finish(), exitCode, output),
      };
    },
  };
}

function limited(line: CommandLine, limits: CommandLimits, prlimit: string | undefined): CommandLine {
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
    // Blocks of 512 bytes.
    ...(fileSize === undefined ? [] : [`ulimit -f ${Math.ceil(fileSize / 512)}`]),
    ...(openFiles === undefined ? [] : [`ulimit -n ${openFiles}`]),
    ...(cpuSeconds === undefined ? [] : [`ulimit -t ${cpuSeconds}`]),
  ];
  // A limit above the one that holds already is refused, and not needed.
  const script = [...settings.map((setting) => `${setting} 2>/dev/null`), 'exec "$@"'].join('; ');
  return ['/bin/sh', ['-c', script, 'sh', program, ...args]];
}

function notes(
  limits: CommandLimits,
  set: CommandLimits,
  met: Awaited<ReturnType<CommandGroup['finish']>> | undefined,
  exitCode: number | null,
  output: string,
): readonly string[] {
  const end = output.slice(-TAIL);
  const { memory, processes, fileSize, cpuSeconds } = limits;
  const isOut = met?.memory ?? (set.memory !== undefined && exitCode !== 0 && NO_MEMORY.test(end));
  const isCrowded = met?.processes ?? (set.processes !== undefined && NO_PROCESS.test(end));
  return [
    ...(isOut && memory !== undefined
      ? [
          `a process was ended because the command used more than ${sized(memory)} of memory (limits.commands.memory)`,
        ]
      : []),
    ...(isCrowded && processes !== undefined
      ? [`the command reached its limit of ${processes} processes and threads (limits.commands.processes)`]
      : []),
    ...(fileSize !== undefined && (exitCode === 153 || TOO_LARGE.test(end))
      ? [`a file reached the limit of ${sized(fileSize)} (limits.commands.file_size)`]
      : []),
    ...(cpuSeconds !== undefined && (exitCode === 152 || NO_TIME.test(end))
      ? [`a process used more than ${cpuSeconds} seconds of CPU time (limits.commands.cpu)`]
      : []),
  ];
}

/** What the system's messages and the usual languages say, in the locale of most. */
const NO_MEMORY = /cannot allocate memory|out of memory|bad_alloc|MemoryError|ENOMEM/i;
const NO_PROCESS = /(?:fork|clone|thread|process)[^\n]*resource temporarily unavailable|EAGAIN/i;
const TOO_LARGE = /file too large|file size limit exceeded|EFBIG/i;
const NO_TIME = /CPU time limit exceeded/i;
const TAIL = 4_096;
const CPU_GRACE_SECONDS = 5;

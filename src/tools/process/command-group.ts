import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { tryOrUndefined } from '../../base/index.ts';
import { programOnPath } from './on-path.ts';
import { findProcess } from './process-list.ts';

/** A program and its arguments. */
export type CommandLine = readonly [program: string, args: readonly string[]];

export interface GroupLimits {
  readonly memory: number | undefined;
  readonly processes: number | undefined;
}

/** The processes of one command, accounted together. */
export interface CommandGroup {
  readonly enter: (line: CommandLine) => CommandLine;
  /** Ends what is left, and returns which limits were reached; undefined if the system does not report it. */
  readonly finish: () => Promise<{ readonly memory: boolean; readonly processes: boolean } | undefined>;
}

/** How the processes of a command are limited together on this machine. */
export interface GroupMechanism {
  readonly name: 'systemd scope' | 'cgroup v2' | 'cgroup v1' | 'none';
  readonly memory: boolean;
  readonly processes: boolean;
  readonly open: (limits: GroupLimits) => CommandGroup | undefined;
}

const mechanisms = new Map<string, Promise<GroupMechanism>>();

/** Returns the best working mechanism, probed once: systemd scopes, then our own control groups. */
export function commandGroups(env: Readonly<Record<string, string>>): Promise<GroupMechanism> {
  const key = env['PATH'] ?? '';
  const found = mechanisms.get(key) ?? probe(env);
  mechanisms.set(key, found);
  return found;
}

async function probe(env: Readonly<Record<string, string>>): Promise<GroupMechanism> {
  if (process.platform !== 'linux') return NONE;
  return (
    (await systemdScopes(env)) ??
    mechanism('cgroup v2', cgroupV2Bases()) ??
    mechanism('cgroup v1', cgroupV1Bases()) ??
    NONE
  );
}

const NONE: GroupMechanism = { name: 'none', memory: false, processes: false, open: () => undefined };

async function systemdScopes(env: Readonly<Record<string, string>>): Promise<GroupMechanism | undefined> {
  const program = existsSync('/run/systemd/system') ? await programOnPath('systemd-run', env) : undefined;
  if (program === undefined) return undefined;
  const fixed = [...(process.getuid?.() === 0 ? [] : ['--user']), '--scope', '--quiet', '--collect'];
  const line = ({ memory, processes }: GroupLimits, [inner, args]: CommandLine): CommandLine => [
    program,
    [
      ...fixed,
      ...(memory === undefined ? [] : ['-p', `MemoryMax=${memory}`]),
      ...(processes === undefined ? [] : ['-p', `TasksMax=${processes}`]),
      '--',
      inner,
      ...args,
    ],
  ];
  try {
    const [file, args] = line({ memory: 1024 ** 3, processes: 100 }, ['true', []]);
    await promisify(execFile)(file, args, { env, timeout: PROBE_MS });
  } catch {
    // No bus, or no permission to create units.
    return undefined;
  }
  return {
    name: 'systemd scope',
    memory: true,
    processes: true,
    open: (limits) => ({ enter: (commandLine) => line(limits, commandLine), finish: async () => undefined }),
  };
}

/** A directory of the cgroup file system in which groups can be created. */
interface Base {
  readonly directory: string;
  readonly memory: boolean;
  readonly processes: boolean;
}

function cgroupV2Bases(): readonly Base[] {
  const mount = mounts().find(({ type }) => type === 'cgroup2')?.path;
  const ownGroup = /^0::(.*)$/m.exec(text('/proc/self/cgroup'))?.[1];
  if (mount === undefined || ownGroup === undefined) return [];
  // Next to our own group: a group with processes cannot distribute its resources.
  return [join(mount, ownGroup), dirname(join(mount, ownGroup))]
    .filter((directory) => directory.startsWith(mount))
    .map((directory): Base => {
      const shared = text(join(directory, 'cgroup.subtree_control')).split(/\s+/);
      return { directory, memory: shared.includes('memory'), processes: shared.includes('pids') };
    })
    .filter(({ memory, processes }) => memory || processes)
    .slice(0, 1);
}

function cgroupV1Bases(): readonly Base[] {
  const ownGroup = text('/proc/self/cgroup');
  return mounts().flatMap(({ type, path, options }): readonly Base[] => {
    const memory = options.includes('memory');
    const processes = options.includes('pids');
    if (type !== 'cgroup' || !(memory || processes)) return [];
    const controller = memory ? 'memory' : 'pids';
    const group =
      new RegExp(`^\\d+:(?:[^:]*,)?${controller}(?:,[^:]*)?:(.*)$`, 'm').exec(ownGroup)?.[1] ?? '/';
    const directory = join(path, group);
    return [{ directory: existsSync(directory) ? directory : path, memory, processes }];
  });
}

function mechanism(name: 'cgroup v1' | 'cgroup v2', bases: readonly Base[]): GroupMechanism | undefined {
  const usable = bases.filter((base) => {
    try {
      const group = makeGroup(base, { memory: 1024 ** 3, processes: 100 });
      rmdirSync(group);
      return true;
    } catch {
      // No permission: the usual case for everyone but root.
      return false;
    }
  });
  if (usable.length === 0) return undefined;
  return {
    name,
    memory: usable.some(({ memory }) => memory),
    processes: usable.some(({ processes }) => processes),
    open: (limits) => openGroup(usable, limits),
  };
}

function makeGroup(base: Base, { memory, processes }: GroupLimits): string {
  const group = join(
    base.directory,
    `${PREFIX}${process.pid}-${findProcess(process.pid)?.start ?? 0}-${randomUUID()}`,
  );
  mkdirSync(group);
  try {
    if (base.memory && memory !== undefined) {
      const isNew = existsSync(join(group, 'memory.max'));
      writeFileSync(join(group, isNew ? 'memory.max' : 'memory.limit_in_bytes'), String(memory));
      // With swap, the limit would only make the command slow.
      for (const swap of [isNew ? ['memory.swap.max', '0'] : ['memory.memsw.limit_in_bytes', String(memory)]])
        tryOrUndefined(() => writeFileSync(join(group, swap[0] ?? ''), swap[1] ?? ''));
    }
    if (base.processes && processes !== undefined) writeFileSync(join(group, 'pids.max'), String(processes));
    return group;
  } catch (thrown) {
    tryOrUndefined(() => rmdirSync(group));
    throw thrown;
  }
}

function openGroup(bases: readonly Base[], limits: GroupLimits): CommandGroup {
  const groups: string[] = [];
  for (const base of bases) {
    // A command without one of its limits is better than no command.
    const group = tryOrUndefined(() => makeGroup(base, limits));
    if (group !== undefined) groups.push(group);
  }
  return {
    enter: ([program, args]) => [
      '/bin/sh',
      ['-c', ENTER, 'sh', ...groups.map((group) => join(group, 'cgroup.procs')), '--', program, ...args],
    ],
    finish: async () => {
      const sum = (file: string, field: string): number =>
        groups.reduce((total, group) => total + counter(join(group, file), field), 0);
      const met = {
        memory: sum('memory.events', 'oom_kill') + sum('memory.oom_control', 'oom_kill') > 0,
        processes: sum('pids.events', 'max') > 0,
      };
      for (const group of groups) await removeGroup(group);
      return met;
    },
  };
}

const ENTER = 'while [ "$1" != -- ]; do echo $$ > "$1"; shift; done 2>/dev/null; shift; exec "$@"';

async function removeGroup(group: string): Promise<void> {
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    tryOrUndefined(() => writeFileSync(join(group, 'cgroup.kill'), '1'));
    // The kernel lists a process of a hidden namespace as 0, and a signal to 0 would end our own process group.
    for (const pid of text(join(group, 'cgroup.procs'))
      .split('\n')
      .map(Number)
      .filter((one) => one > 0))
      tryOrUndefined(() => process.kill(pid, 'SIGKILL'));
    tryOrUndefined(() => rmdirSync(group));
    if (!existsSync(group)) return;
    await sleep(LOOK_MS);
  }
}

/**
 * Removes the groups of commands whose host was killed. The name of a group contains the host's pid and start
 * time.
 */
export function removeAbandonedGroups(): void {
  if (process.platform !== 'linux') return;
  for (const { directory } of [...cgroupV2Bases(), ...cgroupV1Bases()])
    for (const name of tryOrUndefined(() => readdirSync(directory)) ?? []) {
      const [, pid, start] = GROUP_NAME.exec(name) ?? [];
      if (pid === undefined || findProcess(Number(pid))?.start === Number(start)) continue;
      // The kernel keeps a group that still has processes.
      tryOrUndefined(() => rmdirSync(join(directory, name)));
    }
}

function counter(file: string, field: string): number {
  return Number(new RegExp(`^${field} (\\d+)$`, 'm').exec(text(file))?.[1] ?? 0);
}

function mounts(): readonly {
  readonly type: string;
  readonly path: string;
  readonly options: readonly string[];
}[] {
  return text('/proc/self/mounts')
    .split('\n')
    .map((line) => {
      const [, path = '', type = '', options = ''] = line.split(' ');
      return { path, type, options: options.split(',') };
    });
}

function text(file: string): string {
  return tryOrUndefined(() => readFileSync(file, 'utf8')) ?? '';
}

const PREFIX = 'polypod-';
const GROUP_NAME = /^polypod-(\d+)-(\d+)-/;
const PROBE_MS = 5_000;
const MAX_ROUNDS = 50;
const LOOK_MS = 10;

import { accessSync, closeSync, constants, openSync, readSync, type Stats, statSync } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { messageOf, systemCodeOf } from './errors.ts';

/** A program that could not be started. */
export interface ProgramStart {
  readonly program: string;
  readonly cwd: string;
  /** The environment passed to the program; its PATH is searched for the program. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface StartFailure {
  /** As a clause: `"rg" was not found on PATH`. */
  readonly problem: string;
  /** The next step, as a clause: `install it, or correct PATH`. */
  readonly step: string;
  /** Whether retrying is useless until the user changes something. */
  readonly isPermanent: boolean;
}

/**
 * Explains why a program did not start. The error code alone is ambiguous: a missing program is reported as `EACCES` when a
 * directory on PATH cannot be read, and a missing working directory or interpreter as `ENOENT`, like a missing program.
 */
export function explainStartFailure(start: ProgramStart, thrown: unknown): StartFailure {
  const code = systemCodeOf(thrown);
  const explained = isAboutFiles(code) ? (explainDirectory(start.cwd) ?? explainProgram(start)) : undefined;
  if (explained !== undefined) return { ...explained, isPermanent: true };
  return {
    problem: `"${start.program}" could not be started (${messageOf(thrown)})`,
    step: STEPS[code ?? ''] ?? 'try again',
    isPermanent: false,
  };
}

/** The directories on PATH that cannot be searched because the user lacks permission. */
function unreadablePathEntries(path: string | undefined): readonly string[] {
  const entries = (path ?? '').split(delimiter).filter(isAbsolute);
  return [...new Set(entries)].filter((entry) => !canEnter(entry));
}

/** A note for "not found on PATH" messages: the PATH directories that could not be searched. Empty if all were searched. */
export function unreadablePathNote(path: string | undefined): string {
  const unreadable = unreadablePathEntries(path);
  return unreadable.length === 0
    ? ''
    : ` (permission to read is denied for ${shortList(unreadable)} on PATH: allow it, or remove ${unreadable.length === 1 ? 'the entry' : 'the entries'})`;
}

type Explained = Pick<StartFailure, 'problem' | 'step'>;

/** A failure without a code did not come from `spawn`. */
function isAboutFiles(code: string | undefined): boolean {
  return code !== undefined && ['ENOENT', 'EACCES', 'ENOTDIR', 'EPERM', 'ENOEXEC', 'ELOOP'].includes(code);
}

const STEPS: Readonly<Record<string, string>> = {
  E2BIG: 'shorten its arguments and environment',
  EAGAIN: 'end other processes of this user, or raise its limit of processes (ulimit -u)',
  EMFILE: 'raise the limit of open files (ulimit -n)',
  ENFILE: 'raise the limit of open files of this machine',
  ENOMEM: 'end other programs: memory is exhausted',
};

function explainDirectory(cwd: string): Explained | undefined {
  const found = statsOf(cwd);
  if (found === 'missing')
    return {
      problem: `the working directory ${cwd} does not exist`,
      step: 'create it, or correct the working directory (cwd)',
    };
  if (typeof found === 'object' && !found.isDirectory())
    return {
      problem: `the working directory ${cwd} is not a directory`,
      step: 'correct the working directory (cwd)',
    };
  if (found === 'denied' || !canEnter(cwd))
    return {
      problem: `permission to enter the working directory ${cwd} is denied`,
      step: 'correct its permissions, or the working directory (cwd)',
    };
  return undefined;
}

function explainProgram({ program, cwd, env }: ProgramStart): Explained | undefined {
  if (program.includes('/')) return explainFile(resolve(cwd, program), program);
  const files = (env['PATH'] ?? '')
    .split(delimiter)
    .map((entry) => join(resolve(cwd, entry), program))
    .filter((file) => isFile(statsOf(file)));
  const [first] = files;
  // The system runs the first executable file.
  const file = files.find(canExecute) ?? first;
  if (file !== undefined) return explainFile(file, file);
  const unreadable = unreadablePathEntries(env['PATH']);
  if (unreadable.length === 0)
    return { problem: `"${program}" was not found on PATH`, step: 'install it, or correct its name or PATH' };
  return {
    problem: `"${program}" was not found on PATH, and permission to read ${shortList(unreadable)} on PATH is denied`,
    step: `install it, correct its name, or ${unreadable.length === 1 ? 'allow reading that directory or remove it' : 'allow reading those directories or remove them'} from PATH`,
  };
}

function explainFile(file: string, displayed: string): Explained | undefined {
  const found = statsOf(file);
  if (found === 'missing')
    return { problem: `"${displayed}" does not exist`, step: 'correct the path, or install it' };
  if (found === 'denied')
    return {
      problem: `permission to reach "${displayed}" is denied`,
      step: 'correct the permissions of its directories, or choose another program',
    };
  if (found.isDirectory())
    return { problem: `"${displayed}" is a directory`, step: 'name the program in it' };
  if (!canExecute(file))
    return {
      problem: `permission to execute "${displayed}" is denied`,
      step: `make it executable (chmod +x), or choose another program`,
    };
  const interpreter = interpreterOf(file);
  if (interpreter === undefined || isFile(statsOf(interpreter))) return undefined;
  return {
    problem: `"${displayed}" needs ${interpreter}, which does not exist`,
    step: 'install it, or correct the first line of the program',
  };
}

/** The path after `#!`. */
function interpreterOf(file: string): string | undefined {
  try {
    const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const buffer = Buffer.alloc(256);
      const text = buffer.toString('latin1', 0, readSync(descriptor, buffer, 0, buffer.length, 0));
      return /^#![ \t]*([^\s]+)/.exec(text)?.[1];
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return undefined;
  }
}

function statsOf(path: string): Stats | 'missing' | 'denied' {
  try {
    return statSync(path);
  } catch (thrown) {
    return systemCodeOf(thrown) === 'EACCES' ? 'denied' : 'missing';
  }
}

function isFile(found: ReturnType<typeof statsOf>): boolean {
  return typeof found === 'object' && found.isFile();
}

function canExecute(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** True also for a directory that does not exist: permissions are not the problem then. */
function canEnter(directory: string): boolean {
  try {
    accessSync(directory, constants.X_OK);
    return true;
  } catch (thrown) {
    return systemCodeOf(thrown) !== 'EACCES';
  }
}

function shortList(paths: readonly string[]): string {
  const displayed = paths.slice(0, MAX_LISTED).join(', ');
  return paths.length > MAX_LISTED ? `${displayed} and ${paths.length - MAX_LISTED} more` : displayed;
}

const MAX_LISTED = 3;

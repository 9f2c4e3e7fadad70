import { accessSync, closeSync, constants, openSync, readSync, type Stats, statSync } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { messageOf, systemCodeOf } from './errors.ts';

/** A program that the system refused to start. */
export interface UnstartedProgram {
  readonly program: string;
  readonly cwd: string;
  /** The environment that it would have had: its PATH decides where the program is searched. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface StartFailure {
  /** As a clause: `"rg" was not found on PATH`. */
  readonly problem: string;
  /** The next step, as a clause: `install it, or correct PATH`. */
  readonly step: string;
  /** Whether another attempt is useless until somebody changes something. */
  readonly isPermanent: boolean;
}

/**
 * Why a program did not start. The code of the system call is not enough: a missing program is `EACCES` when one directory
 * on PATH cannot be read, and a missing working directory or interpreter is `ENOENT` like a missing program.
 */
export function explainStartFailure(unstarted: UnstartedProgram, thrown: unknown): StartFailure {
  const code = systemCodeOf(thrown);
  const explained = isAboutFiles(code)
    ? (explainDirectory(unstarted.cwd) ?? explainProgram(unstarted))
    : undefined;
  if (explained !== undefined) return { ...explained, isPermanent: true };
  return {
    problem: `"${unstarted.program}" could not be started (${messageOf(thrown)})`,
    step: STEPS[code ?? ''] ?? 'try again',
    isPermanent: false,
  };
}

/** The directories on PATH in which no program can be found because the user may not enter them. */
function unreadablePathEntries(path: string | undefined): readonly string[] {
  const entries = (path ?? '').split(delimiter).filter(isAbsolute);
  return [...new Set(entries)].filter((entry) => !mayEnter(entry));
}

/** For a program that is on no directory of PATH: which of them could not be searched. Empty if all could. */
export function unsearchedText(path: string | undefined): string {
  const unreadable = unreadablePathEntries(path);
  return unreadable.length === 0
    ? ''
    : ` (permission to read is denied for ${listed(unreadable)} on PATH: allow it, or remove ${unreadable.length === 1 ? 'the entry' : 'the entries'})`;
}

type Explained = Pick<StartFailure, 'problem' | 'step'>;

/** Without a code, the failure is not one of `spawn`. */
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
  if (found === 'denied' || !mayEnter(cwd))
    return {
      problem: `permission to enter the working directory ${cwd} is denied`,
      step: 'correct its permissions, or the working directory (cwd)',
    };
  return undefined;
}

function explainProgram({ program, cwd, env }: UnstartedProgram): Explained | undefined {
  if (program.includes('/')) return explainFile(resolve(cwd, program), program);
  const files = (env['PATH'] ?? '')
    .split(delimiter)
    .map((entry) => join(resolve(cwd, entry), program))
    .filter((file) => isFile(statsOf(file)));
  const [first] = files;
  // The system takes the first file that it may execute.
  const file = files.find(mayExecute) ?? first;
  if (file !== undefined) return explainFile(file, file);
  const unreadable = unreadablePathEntries(env['PATH']);
  if (unreadable.length === 0)
    return { problem: `"${program}" was not found on PATH`, step: 'install it, or correct its name or PATH' };
  return {
    problem: `"${program}" was not found on PATH, and permission to read ${listed(unreadable)} on PATH is denied`,
    step: `install it, correct its name, or ${unreadable.length === 1 ? 'allow reading that directory or remove it' : 'allow reading those directories or remove them'} from PATH`,
  };
}

function explainFile(file: string, shown: string): Explained | undefined {
  const found = statsOf(file);
  if (found === 'missing')
    return { problem: `"${shown}" does not exist`, step: 'correct the path, or install it' };
  if (found === 'denied')
    return {
      problem: `permission to reach "${shown}" is denied`,
      step: 'correct the permissions of its directories, or choose another program',
    };
  if (found.isDirectory()) return { problem: `"${shown}" is a directory`, step: 'name the program in it' };
  if (!mayExecute(file))
    return {
      problem: `permission to execute "${shown}" is denied`,
      step: `make it executable (chmod +x), or choose another program`,
    };
  const interpreter = interpreterOf(file);
  if (interpreter === undefined || isFile(statsOf(interpreter))) return undefined;
  return {
    problem: `"${shown}" needs ${interpreter}, which does not exist`,
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

function mayExecute(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** A directory that does not exist can be entered as far as permissions go. */
function mayEnter(directory: string): boolean {
  try {
    accessSync(directory, constants.X_OK);
    return true;
  } catch (thrown) {
    return systemCodeOf(thrown) !== 'EACCES';
  }
}

function listed(paths: readonly string[]): string {
  const shown = paths.slice(0, MOST_SHOWN).join(', ');
  return paths.length > MOST_SHOWN ? `${shown} and ${paths.length - MOST_SHOWN} more` : shown;
}

const MOST_SHOWN = 3;

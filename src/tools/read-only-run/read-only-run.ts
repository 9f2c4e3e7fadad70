import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { PolypodError } from '../../base/index.ts';
import type { Repository } from '../policy/index.ts';
import type { ReadOnlyRun } from '../tool.ts';
import { gitShim, type ShimRepository } from './git-shim.ts';
import { cleanEnvironment } from './clean-environment.ts';
import { shadowConfig } from './shadow-config.ts';
import { makeShadow } from './shadow-repository.ts';

/** The repositories that git may use in a command line, and the directories from which it finds them. */
export interface ExaminedGit {
  /** The real git, absolute. */
  readonly program: string;
  readonly found: readonly { readonly repository: Repository; readonly directories: readonly string[] }[];
  /** Directories outside any repository. */
  readonly none: readonly string[];
}

interface ReadOnlyRunParts {
  /** The environment of approved commands. */
  readonly env: Readonly<Record<string, string>>;
  /** A directory of ours that agents cannot write to. */
  readonly scratch: string;
  /** The shell. */
  readonly bash: string;
  /** Undefined if the command does not use git. */
  readonly git: ExaminedGit | undefined;
  /** Returns whether an agent may have put programs into a directory. */
  readonly isWritable: (directory: string) => Promise<boolean>;
}

/** Prepares what a command line without approval needs to run without running anything else. */
export async function readOnlyRun({
  env,
  scratch,
  bash,
  git,
  isWritable,
}: ReadOnlyRunParts): Promise<ReadOnlyRun> {
  const searchPath: string[] = [];
  for (const directory of (env['PATH'] ?? '').split(':').filter(isAbsolute))
    if (!(await isWritable(directory))) searchPath.push(directory);
  const args = (command: string): readonly string[] => ['-p', '-c', command];
  if (git === undefined)
    return {
      program: bash,
      args,
      env: cleanEnvironment(env, searchPath),
      close: async () => {},
    };
  const directory = await makeDirectory(scratch);
  const close = (): Promise<void> => rm(directory, { recursive: true, force: true });
  try {
    await writeShim(directory, git, env);
  } catch (thrown) {
    await close();
    throw thrown;
  }
  const programs = join(directory, 'bin');
  return {
    program: bash,
    args,
    env: cleanEnvironment(env, [programs, ...searchPath]),
    close,
  };
}

async function makeDirectory(scratch: string): Promise<string> {
  await mkdir(scratch, { recursive: true, mode: 0o700 });
  const directory = await mkdtemp(join(scratch, 'neutral-'));
  // It becomes an entry of PATH.
  if (!directory.includes(':')) return directory;
  await rm(directory, { recursive: true });
  throw new PolypodError('denied', `Git cannot run without approval: ${scratch} has a colon in its path.`);
}

async function writeShim(
  directory: string,
  { program, found, none }: ExaminedGit,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  const repositories: ShimRepository[] = [];
  for (const [index, { repository, directories }] of found.entries()) {
    const config = await shadowConfig(program, repository, env);
    const shadow = await makeShadow(repository, config, join(directory, String(index)));
    const { isLinkedWorktree } = repository;
    repositories.push({ directories, shadow: shadow.env, isLinkedWorktree });
  }
  await mkdir(join(directory, 'bin'), { mode: 0o700 });
  await writeFile(join(directory, 'bin/git'), gitShim({ git: program, repositories, none }), { mode: 0o500 });
}

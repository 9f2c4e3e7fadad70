import { join, relative } from 'node:path';
import { PolypodError } from '../../base/index.ts';
import { projectDirectories } from './project-directories.ts';
import { ANY_ROOT, LONGEST_TEXT, readTextInside } from './text-files.ts';

/** Instructions for agents, by the user or by a project. */
export interface Instructions {
  readonly of: 'user' | 'project';
  readonly file: string;
  readonly text: string;
}

/** The first that exists is used. */
const FILES = ['AGENTS.md', 'CLAUDE.md'];

/** Reads the user's instructions, then those of the project, from the root of the repository to the working directory. */
export async function readInstructions(cwd: string, userDirectory: string): Promise<readonly Instructions[]> {
  const directories = await projectDirectories(cwd);
  const [root = cwd] = directories;
  const read = await Promise.all([
    readFirst(ANY_ROOT, userDirectory, 'user', (path) => path),
    ...directories.map((directory) =>
      readFirst(root, directory, 'project', (path) => relative(directories.at(-1) ?? cwd, path)),
    ),
  ]);
  return read.flat();
}

async function readFirst(
  root: string,
  directory: string,
  of: Instructions['of'],
  label: (path: string) => string,
): Promise<readonly Instructions[]> {
  for (const name of FILES) {
    const path = join(directory, name);
    const text = await readTextInside(root, path);
    if (text === undefined) continue;
    if (text.length > LONGEST_TEXT)
      throw new PolypodError('bad-request', `${path} is longer than ${LONGEST_TEXT} characters: shorten it`);
    if (text.trim() !== '') return [{ of, file: label(path), text }];
  }
  return [];
}

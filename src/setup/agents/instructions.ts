import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, PolypodError, systemCodeOf } from '../../base/index.ts';
import { fileFacts, isInside, isSecret } from '../../tools/index.ts';

/** A project's instructions for agents. */
export interface Instructions {
  readonly file: string;
  readonly text: string;
}

const FILE = 'AGENTS.md';
const LONGEST = 100_000;

/** Reads the project's instructions. Links out of the project are not followed: a repository could otherwise send any file to the model. */
export async function readInstructions(cwd: string): Promise<readonly Instructions[]> {
  const [here, file] = await Promise.all([fileFacts.realPath(cwd), fileFacts.realPath(join(cwd, FILE))]);
  if (!('real' in here) || !('real' in file) || !isInside(here.real, file.real) || isSecret(file.real))
    return [];
  const text = await readFile(file.real, 'utf8').catch((thrown: unknown) => {
    if (systemCodeOf(thrown) === 'ENOENT') return '';
    throw new PolypodError('denied', `cannot read ${FILE}: ${messageOf(thrown)}`, { cause: thrown });
  });
  if (text.length > LONGEST)
    throw new PolypodError('bad-request', `${FILE} is longer than ${LONGEST} characters: shorten it`);
  return text.trim() === '' ? [] : [{ file: FILE, text }];
}

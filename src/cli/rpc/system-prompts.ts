import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { messageOf, PolypodError } from '../../base/index.ts';
import type { RpcOptions } from './options.ts';

/** The texts of the system prompt options. */
export interface PromptTexts {
  readonly system?: string;
  readonly appendSystem?: string;
}

/** Reads `--system-prompt` and `--append-system-prompt`: each is a text or the path of a file. */
export async function readPrompts(
  { systemPrompt, appendSystemPrompts }: Pick<RpcOptions, 'systemPrompt' | 'appendSystemPrompts'>,
  cwd: string,
): Promise<PromptTexts> {
  const appended = await Promise.all(
    appendSystemPrompts.map((given) => promptIn('--append-system-prompt', given, cwd)),
  );
  return {
    ...(systemPrompt === undefined ? {} : { system: await promptIn('--system-prompt', systemPrompt, cwd) }),
    ...(appended.length === 0 ? {} : { appendSystem: appended.join('\n\n') }),
  };
}

/** As in pi, a value that is not the path of a regular file is the text itself. */
async function promptIn(option: string, given: string, cwd: string): Promise<string> {
  if (given === '' || given.length > LONGEST_PATH || /[\0\n]/.test(given)) return given;
  const path = resolve(cwd, given);
  const about = await stat(path).catch(() => undefined);
  if (about === undefined || !about.isFile()) return given;
  if (about.size > MOST_BYTES)
    throw new PolypodError(
      'bad-request',
      `the file of ${option}, ${path}, is larger than ${MOST_BYTES} bytes`,
    );
  try {
    return await readFile(path, 'utf8');
  } catch (thrown) {
    throw new PolypodError('denied', `cannot read the file of ${option}: ${messageOf(thrown)}`, {
      cause: thrown,
    });
  }
}

const LONGEST_PATH = 4_096;
const MOST_BYTES = 1024 * 1024;

import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { messageOf, PolypodError, systemCodeOf, withoutUndefined } from '../../../base/index.ts';
import type { Host, Pod, SettingsChange } from '../../../pod/index.ts';

/** The settings of a session whose file is missing or empty. */
export interface NewSessionSettings {
  readonly cwd: string;
  readonly settings?: SettingsChange | undefined;
}

/**
 * Opens the session in a file. A file that is missing or empty becomes a new session, as in pi and xcsh; unlike there, a file with other
 * content is never overwritten. If this fails, it creates nothing.
 */
export async function openSessionFile(
  host: Host,
  file: string,
  beginnings: NewSessionSettings,
): Promise<Pod> {
  const path = resolve(beginnings.cwd, file);
  try {
    const isNew = await isMissingOrEmpty(path);
    const { cwd, settings } = beginnings;
    return isNew
      ? await host.create({ cwd, file: () => path, ...withoutUndefined({ settings }) })
      : await host.openFile(path);
  } catch (thrown) {
    if (thrown instanceof PolypodError && thrown.code !== 'internal') throw thrown;
    throw new PolypodError('bad-request', `cannot open the session ${path}: ${messageOf(thrown)}`, {
      cause: thrown,
    });
  }
}

async function isMissingOrEmpty(path: string): Promise<boolean> {
  const state = await stat(path).catch((thrown: unknown) => {
    if (systemCodeOf(thrown) === 'ENOENT') return undefined;
    throw thrown;
  });
  if (state === undefined) return true;
  if (state.isDirectory())
    throw new PolypodError('bad-request', `${path} is a directory: name a session file, such as NAME.jsonl`);
  return state.isFile() && state.size === 0;
}

/** Refuses values that are not valid paths on any system. */
export function refuseBadPath(file: string, name: string): void {
  if (file === '') throw new PolypodError('bad-request', `${name} must not be empty: name a session file`);
  if (file.length > LONGEST_PATH || file.includes('\0'))
    throw new PolypodError(
      'bad-request',
      `${name} must have at most ${LONGEST_PATH} characters, and no null characters`,
    );
}

const LONGEST_PATH = 4_096;

import { asPolypodError, uuidv7 } from '../../base/index.ts';
import { readWhole } from '../journal/index.ts';
import type { SessionTree } from '../session/index.ts';
import { headerOf, type RowSource } from './session-rows.ts';

/**
 * Reads a session that cannot be opened because the disk is full or read-only: opening it writes a lock and recovery events. Throws
 * the original error in all other cases.
 */
export async function readUnopened(
  { files, now }: RowSource,
  file: string,
  thrown: unknown,
): Promise<SessionTree> {
  const { code } = asPolypodError(thrown);
  const header = code === 'overloaded' || code === 'denied' ? await headerOf(files, file) : undefined;
  if (header === undefined) throw thrown;
  return readWhole(files, file, header, { newId: uuidv7, now });
}

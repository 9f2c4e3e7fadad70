import { asPolypodError, uuidv7 } from '../base/index.ts';
import { readWhole } from './journal/index.ts';
import type { SessionTree } from './session/index.ts';
import { headerOf, type RowSource } from './session-rows.ts';

/**
 * Reads a session that cannot be opened: to open it, a lock and what its last process left unsaid have to be written, and the
 * disk may be full or read-only. Throws why it cannot be opened where that is no reason not to read it.
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

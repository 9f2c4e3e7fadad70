import { PolypodError } from '../../base/index.ts';
import type { Host } from '../../pod/index.ts';
import { takeFromTrash, trashIn } from '../../pod/sessions.ts';
import { findSession } from '../../setup/index.ts';

/** Restores a session from the trash. Rejects if its name or id is in use. */
export async function restoreSession(
  host: Host,
  dataDirectory: string,
  word: string,
): Promise<{ readonly id: string; readonly name?: string }> {
  const trashed = await trashIn(dataDirectory);
  const session = findSession(trashed, word, {
    unknown: `the trash has no session "${word}"; polypod trash list lists them`,
  });
  const { id, name } = session;
  const [other] = (await host.sessions.list()).filter((row) => row.id === id || row.name === name);
  if (other !== undefined && other.id === id)
    throw new PolypodError('conflict', `the session ${id} exists: it cannot be restored twice`);
  if (other !== undefined && name !== undefined)
    throw new PolypodError(
      'conflict',
      `the name "${name}" is used by the session ${other.id}: rename that one first: polypod rename ${other.id} NEW-NAME`,
    );
  await host.openFile(await takeFromTrash(dataDirectory, session));
  // The sessions of its sub-agents were removed with it, after it.
  const children = trashed.filter((child) => child.spawned === true && child.parentId === id);
  for (const child of children.filter(({ removedAt }) => removedAt >= session.removedAt))
    await host.openFile(await takeFromTrash(dataDirectory, child));
  return name === undefined ? { id } : { id, name };
}

/** Lists the sessions of a data directory without opening them. */
import { readRows } from './catalogue/read-rows.ts';
import type { Row } from './catalogue/row.ts';
import { Layout } from './host/layout.ts';
import type { TrashedSession } from './host/trash.ts';

export type { Row } from './catalogue/row.ts';
export { found as searched } from './catalogue/search.ts';
export { childLabel } from './subagent-label.ts';
export { Layout } from './host/layout.ts';
export type { TrashedSession } from './host/trash.ts';
export type { Defect, Note, RepairReport } from './repair/index.ts';

/** All sessions, most recently changed first. */
export function sessionsIn(directory: string): readonly Row[] {
  return readRows(new Layout(directory).catalogue);
}

/** The number of invalid lines of the catalogue. */
export async function badCatalogueLines(directory: string): Promise<number> {
  const { Catalogue } = await import('./catalogue/index.ts');
  const catalogue = await Catalogue.open(new Layout(directory).catalogue);
  const { badLines } = catalogue;
  await catalogue.close();
  return badLines;
}

/** Detects and repairs damaged session files. */
export async function repairKit() {
  return import('./repair/index.ts');
}

/** The sessions in the trash, the last removed first. */
export async function trashIn(directory: string): Promise<readonly TrashedSession[]> {
  const [{ trashedSessions }, { realFiles }] = await Promise.all([
    import('./host/trash.ts'),
    import('../store/index.ts'),
  ]);
  return trashedSessions(realFiles, new Layout(directory));
}

/** Moves a session back from the trash and returns its file, which a host must open. */
export async function takeFromTrash(
  directory: string,
  session: Pick<TrashedSession, 'entry' | 'id'>,
): Promise<string> {
  const [{ moveFromTrash }, { realFiles }] = await Promise.all([
    import('./host/trash.ts'),
    import('../store/index.ts'),
  ]);
  return moveFromTrash(realFiles, new Layout(directory), session);
}
export { backendModel, otherBackend, OWN_BACKEND } from './backend-name.ts';

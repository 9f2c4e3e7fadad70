/** What can be told of the sessions of a data directory without opening any of them: a light way in, for lists. */
import { glance } from './catalogue/glance.ts';
import type { Row } from './catalogue/row.ts';
import { Layout } from './host/layout.ts';

export type { Row } from './catalogue/row.ts';
export { found as searched } from './catalogue/search.ts';
export { Layout } from './host/layout.ts';
export type { Defect, Note, RepairReport } from './repair/index.ts';

/** All sessions, those that changed last first. */
export function sessionsIn(directory: string): readonly Row[] {
  return glance(new Layout(directory).catalogue);
}

/** How many lines of the catalogue are not what anybody wrote. */
export async function badCatalogueLines(directory: string): Promise<number> {
  const { Catalogue } = await import('./catalogue/index.ts');
  const catalogue = await Catalogue.open(new Layout(directory).catalogue);
  const { badLines } = catalogue;
  await catalogue.close();
  return badLines;
}

/** How damaged session files are found and repaired. */
export async function repairKit() {
  return import('./repair/index.ts');
}

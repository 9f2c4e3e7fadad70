/** What can be told of the sessions of a data directory without opening any of them: a light way in, for lists. */
import { Catalogue, type Row } from './catalogue/index.ts';
import { Layout } from './layout.ts';

export type { Filter, Row } from './catalogue/index.ts';
export { Layout } from './layout.ts';

/** The catalogue as it stands now. */
export interface Sessions {
  /** Those that changed last first. */
  readonly rows: readonly Row[];
  /** Those in which every word of the text occurs, the best first. */
  readonly search: (text: string) => readonly Row[];
  /** How many lines of the catalogue could not be read. */
  readonly badLines: number;
}

export async function readSessions(directory: string): Promise<Sessions> {
  const catalogue = await Catalogue.open(new Layout(directory).catalogue);
  const { badLines } = catalogue;
  await catalogue.close();
  return { rows: catalogue.list(), search: (text) => catalogue.search(text), badLines };
}

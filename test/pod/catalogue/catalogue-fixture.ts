import { onTestFinished } from 'vitest';
import { Catalogue, type CatalogueOptions, type Row } from '../../../src/pod/catalogue/index.ts';

export const HEADER = '{"type":"catalogue","version":1}';

/** A session that was created at noon, with the fields that matter to the test. */
export function rowOf(id: string, more: Partial<Row> = {}): Row {
  return {
    id,
    file: `sessions/${id}.jsonl`,
    cwd: '/projects',
    createdAt: '2026-01-01T12:00:00.000Z',
    updatedAt: '2026-01-01T12:00:00.000Z',
    state: 'idle',
    archived: false,
    totals: {
      turns: 1,
      toolCalls: 0,
      inputTokens: 10,
      outputTokens: 20,
      cacheReadInputTokens: 0,
      cacheCreationInputTokens: 0,
    },
    approvals: [],
    queued: 0,
    tasks: [],
    ...more,
  };
}

/** A minute after noon. */
export function at(minute: number): string {
  return new Date(Date.UTC(2026, 0, 1, 12, minute)).toISOString();
}

/** Opens a catalogue that is closed after the test. A reported failure fails the test unless the test handles it. */
export async function opened(path: string, options: CatalogueOptions = {}): Promise<Catalogue> {
  const failures: Error[] = [];
  const catalogue = await Catalogue.open(path, { onFailure: (error) => failures.push(error), ...options });
  onTestFinished(async () => {
    await catalogue.close();
    if (failures[0] !== undefined) throw failures[0];
  });
  return catalogue;
}

/** All rows by id, as read by a newly opened catalogue. */
export async function readAgain(path: string, options: CatalogueOptions = {}): Promise<readonly Row[]> {
  const catalogue = await Catalogue.open(path, options);
  const rows = catalogue.list().toSorted((one, other) => (one.id < other.id ? -1 : 1));
  await catalogue.close();
  return rows;
}

export function idsOf(rows: readonly Row[]): readonly string[] {
  return rows.map(({ id }) => id);
}

/** Resolves when pending changes are written: writing starts in the next event loop turn, and a refresh waits for it. */
export async function written(catalogue: Catalogue): Promise<void> {
  await new Promise((resolve) => void setImmediate(resolve));
  await catalogue.refresh();
}

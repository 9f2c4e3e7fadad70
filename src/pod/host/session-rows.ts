import { asPolypodError, PolypodError, uuidv7 } from '../../base/index.ts';
import { type Files, readFirstLine } from '../../store/index.ts';
import { NO_TOTALS } from '../../worker/index.ts';
import type { Row } from '../catalogue/index.ts';
import { headerIn, readWhole, restore } from '../journal/index.ts';
import type { Layout } from './layout.ts';
import { rowOf } from './listing.ts';
import { conversation, type Entry, type Header, SETTINGS, TITLE } from '../session/index.ts';
import { stateOf } from '../view/state.ts';
import { wasClosed } from './closed-by-client.ts';

export interface RowSource {
  readonly files: Files;
  readonly layout: Layout;
  readonly now: () => Date;
  readonly onFailure: (error: PolypodError, id: string) => void;
}

const SUFFIX = '.jsonl';

/** The ids of the sessions in the directory, by file name. */
export function idsIn({ files, layout }: RowSource): readonly string[] {
  return files
    .list(layout.sessions)
    .filter((name) => name.endsWith(SUFFIX))
    .map((name) => name.slice(0, -SUFFIX.length));
}

/** Builds rows from session files. Reports and skips files that cannot be read. */
export async function* rowsFromFiles(source: RowSource, ids: Iterable<string>): AsyncGenerator<Row> {
  for (const id of ids) {
    try {
      yield await rowFromFile(source, source.layout.session(id));
    } catch (error) {
      source.onFailure(asPolypodError(error), id);
    }
  }
}

/** With the time of the last entry, or the current time. */
export async function rowFromFile(
  { files, layout, now }: RowSource,
  file: string,
  at?: string,
): Promise<Row> {
  const header = await headerOf(files, file);
  if (header === undefined)
    throw new PolypodError('bad-request', `${file} does not begin with a session header`);
  const tree = await readWhole(files, file, header, { newId: uuidv7, now });
  const { view, totals = NO_TOTALS } = restore(tree);
  view.state = stateOf(view, false);
  const last = [...tree.entries()].findLast(isActivity)?.timestamp ?? header.timestamp;
  const model = view.settings.model ?? conversation(tree).model;
  const row = rowOf(
    { header, view, totals, model },
    { file: layout.named(file), before: undefined, now: at ?? last },
  );
  // A session with a prompt is not listed as closed.
  const isUnused = row.lastRun === undefined && row.queued === 0;
  return isUnused && wasClosed(files, layout.feed(header.id)) ? { ...row, closed: true } : row;
}

/** Whether an entry counts as activity. Naming and configuring a session does not, and neither does its title. */
function isActivity(entry: Entry): boolean {
  return !CONFIGURING.has(entry.type) && SETTINGS.in(entry) === undefined && TITLE.in(entry) === undefined;
}

const CONFIGURING: ReadonlySet<Entry['type']> = new Set([
  'session_info',
  'model_change',
  'thinking_level_change',
]);

/** The header of a session file; undefined if the file is missing or not a session. */
export async function headerOf(files: Files, file: string): Promise<Header | undefined> {
  if (files.stat(file) === undefined) return undefined;
  // Reads only the first line: a client may name any file of any size.
  const first = await readFirstLine(files, file);
  return first !== undefined && 'text' in first ? headerIn(first.text) : undefined;
}

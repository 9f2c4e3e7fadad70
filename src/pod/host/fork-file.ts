import { dirname } from 'node:path';
import { type Durability, type Files, openLog } from '../../store/index.ts';
import { headerIn, makeDirectories } from '../journal/index.ts';
import {
  encodeEntry,
  encodeHeader,
  FORK,
  type Header,
  SETTINGS,
  type SessionTree,
} from '../session/index.ts';
import type { PodSettings } from '../settings.ts';

export interface ForkFile {
  readonly file: string;
  readonly header: Header;
  /** The complete session to fork. */
  readonly source: { readonly id: string; readonly tree: SessionTree; readonly settings: PodSettings };
  /** The last entry to copy; null for none. */
  readonly at: string | null;
  readonly files: Files;
  readonly durability: Durability;
}

/**
 * Writes a session that starts with a part of another one. The file gets its name when it is complete, so a crash leaves no
 * partial session.
 */
export async function writeFork(fork: ForkFile): Promise<void> {
  const { file, header, source, at, files, durability } = fork;
  const tree = source.tree.fork(at, header);
  tree.append(FORK.body({ sessionId: source.id, ...(at === null ? {} : { entryId: at }) }), { seq: 0 });
  // Copies the current settings, whichever branch set them, so that restrictions also apply to the fork.
  const { name: _, annotations: __, ...settings } = source.settings;
  tree.append(SETTINGS.body({ settings }), { seq: 0 });
  makeDirectories(files, dirname(file));
  const draft = `${file}.fork`;
  const log = await openLog(draft, {
    header: encodeHeader(header),
    isHeader: (text) => headerIn(text)?.id === header.id,
    durability,
    files,
  });
  await log.append([...tree.entries()].map(encodeEntry), true);
  await log.close();
  files.rename(draft, file);
  if (durability !== 'none') await files.syncDirectory(dirname(file));
}

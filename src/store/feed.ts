import { basename } from 'node:path';
import { numberOf, objectIn, PolypodError } from '../base/index.ts';
import { type AppendLog, type LogOptions, openLog } from './append-log.ts';
import { beginLog } from './begin-log.ts';

/** The header's version that this program writes; a newer one is refused untouched. */
const VERSION = 1;

export interface FeedOptions extends Omit<LogOptions, 'header' | 'isHeader' | 'isPrivate'> {
  readonly sessionId: string;
  /** The number of the first record, if the file is new. */
  readonly firstSeq: number;
}

/** A session's numbered records, as far back as they are kept. */
export interface Feed {
  readonly log: AppendLog;
  /** The number of the first record that the file can hold: what is asked for from before it is gone. */
  readonly firstSeq: number;
  /** Forgets all records; those to come begin with this number. */
  rotate(firstSeq: number): Promise<void>;
}

export async function openFeed(path: string, options: FeedOptions): Promise<Feed> {
  return feedOver(await openLog(path, asLog(path, options)), options.sessionId);
}

/** A feed whose file is not there yet, at once; it is never synced. */
export function beginFeed(path: string, options: Omit<FeedOptions, 'durability' | 'syncWithinMs'>): Feed {
  return feedOver(beginLog(path, asLog(path, options)), options.sessionId);
}

function asLog(path: string, { sessionId, firstSeq, ...rest }: FeedOptions): LogOptions {
  const isHeader = (text: string) => isHeaderOf(sessionId, text, path);
  return { ...rest, header: headerOf(sessionId, firstSeq), isHeader, isPrivate: true };
}

function feedOver(log: AppendLog, sessionId: string): Feed {
  return {
    log,
    get firstSeq() {
      return numberOf(objectIn(log.header)?.firstSeq) ?? 0;
    },
    rotate: (next) => log.rotate(headerOf(sessionId, next)),
  };
}

function headerOf(sessionId: string, firstSeq: number): string {
  return JSON.stringify({ type: 'feed', version: VERSION, sessionId, firstSeq });
}

function isHeaderOf(sessionId: string, text: string, path: string): boolean {
  const header = objectIn(text) ?? {};
  const version = numberOf(header.version);
  if (header.type !== 'feed' || version === undefined) return false;
  if (version > VERSION)
    throw new PolypodError(
      'conflict',
      `${basename(path)} was written by a newer Polypod (version ${version} of the feed format), so it is left untouched. Update Polypod to open it.`,
    );
  return header.sessionId === sessionId && numberOf(header.firstSeq) !== undefined;
}

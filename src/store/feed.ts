import { basename } from 'node:path';
import { numberOf, parseObject, PolypodError } from '../base/index.ts';
import { type AppendLog, type LogOptions, openLog } from './append-log.ts';
import { createLogNow } from './create-log-now.ts';

/** The version of the feed format. Files with a newer version are rejected and not modified. */
const VERSION = 1;

export interface FeedOptions extends Omit<LogOptions, 'header' | 'isHeader' | 'isPrivate'> {
  readonly sessionId: string;
  /** The number of the first record, if the file is new. */
  readonly firstSeq: number;
}

/** A session's numbered records, as far back as they are retained. */
export interface FeedFile {
  readonly log: AppendLog;
  /** The number of the first retained record; earlier records have been removed. */
  readonly firstSeq: number;
  /** Removes all records; new ones start with this number. */
  rotate(firstSeq: number): Promise<void>;
}

export async function openFeed(path: string, options: FeedOptions): Promise<FeedFile> {
  return createFeed(await openLog(path, logOptions(path, options)), options.sessionId);
}

/** Creates a feed synchronously; the file must not exist. It is never synced. */
export function createFeedNow(
  path: string,
  options: Omit<FeedOptions, 'durability' | 'syncWithinMs'>,
): FeedFile {
  return createFeed(createLogNow(path, logOptions(path, options)), options.sessionId);
}

function logOptions(path: string, { sessionId, firstSeq, ...rest }: FeedOptions): LogOptions {
  const isHeader = (text: string) => isFeedHeader(sessionId, text, path);
  return { ...rest, header: feedHeader(sessionId, firstSeq), isHeader, isPrivate: true };
}

function createFeed(log: AppendLog, sessionId: string): FeedFile {
  return {
    log,
    get firstSeq() {
      return numberOf(parseObject(log.header)?.firstSeq) ?? 0;
    },
    rotate: (next) => log.rotate(feedHeader(sessionId, next)),
  };
}

function feedHeader(sessionId: string, firstSeq: number): string {
  return JSON.stringify({ type: 'feed', version: VERSION, sessionId, firstSeq });
}

function isFeedHeader(sessionId: string, text: string, path: string): boolean {
  const header = parseObject(text) ?? {};
  const version = numberOf(header.version);
  if (header.type !== 'feed' || version === undefined) return false;
  if (version > VERSION)
    throw new PolypodError(
      'conflict',
      `${basename(path)} was written by a newer Polypod (version ${version} of the feed format), so it is left untouched. Update Polypod to open it.`,
    );
  return header.sessionId === sessionId && numberOf(header.firstSeq) !== undefined;
}

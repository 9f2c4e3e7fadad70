import { type Feed, type FeedOptions, fileFailure, openFeed } from '../../store/index.ts';
import { letGo, syncFileAndName } from './disk.ts';
import { withoutHoles } from './mend.ts';
import { isRest, seqIn } from './record.ts';
import { lastTextIn, type Segment } from './segment.ts';

/** What there is of a feed: the segments that are only read, and the current one; none in an empty feed. */
export interface Held {
  readonly older: readonly Segment[];
  readonly current: Feed | undefined;
  readonly lastSeq: number;
  readonly isClean: boolean;
}

/** Whose feed it is, where its files are, and what says that it is still ours. */
type Owned = Required<Pick<FeedOptions, 'sessionId' | 'files' | 'guard'>>;

/**
 * Opens the last of these segments to be appended to. Of a feed that was not closed, or whose end is lost, what stands
 * before a hole is let go.
 */
export async function hold(
  { sessionId, files, guard }: Owned,
  found: readonly Segment[],
  isEndLost = false,
): Promise<Held> {
  const last = found.at(-1);
  if (last === undefined) return { older: [], current: undefined, lastSeq: 0, isClean: false };
  const { path, firstSeq } = last;
  const current = await openFeed(path, { sessionId, firstSeq, files, guard, durability: 'none' });
  try {
    const { start, end, repair } = current.log;
    const text = await lastTextIn(files, { path, firstSeq, range: { from: start, to: end } });
    const isClean = !isEndLost && repair === undefined && text !== undefined && isRest(text);
    const kept = isClean ? found : await withoutHoles(files, found);
    // What the disk does not know of it, a power cut can still undo: a cut in the middle of what is written from now on, or
    // a whole file, before which the feed was closed once.
    if (!isClean) await syncFileAndName(files, path);
    return { older: kept.slice(0, -1), current, lastSeq: lastSeqOf(text, last), isClean };
  } catch (error) {
    letGo(current);
    throw error;
  }
}

function lastSeqOf(text: string | undefined, { path, firstSeq }: Segment): number {
  const seq = text === undefined ? firstSeq - 1 : seqIn(text);
  if (seq !== undefined) return seq;
  throw fileFailure(path, 'read', new Error('its last line has no number'));
}

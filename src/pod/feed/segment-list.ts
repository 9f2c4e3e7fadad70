import { type FeedFile, type FeedOptions, fileFailure, openFeed } from '../../store/index.ts';
import { closeSegment, syncFileAndName } from './disk.ts';
import { withoutHoles } from './recover-segments.ts';
import { isRest, seqIn } from './record.ts';
import { lastTextIn, type Segment } from './segment.ts';

/** The segments of a feed: the read-only ones and the current one. An empty feed has none. */
export interface SegmentList {
  readonly older: readonly Segment[];
  readonly current: FeedFile | undefined;
  readonly lastSeq: number;
  readonly isClean: boolean;
}

/** Where the feed's files are, and how to check that this process still owns them. */
type Owned = Required<Pick<FeedOptions, 'sessionId' | 'files' | 'guard'>>;

/** Opens the last segment for appending. If the feed was not closed, or its end is lost, segments before a gap are removed. */
export async function openSegmentList(
  { sessionId, files, guard }: Owned,
  found: readonly Segment[],
  isEndLost = false,
): Promise<SegmentList> {
  const last = found.at(-1);
  if (last === undefined) return { older: [], current: undefined, lastSeq: 0, isClean: false };
  const { path, firstSeq } = last;
  const current = await openFeed(path, { sessionId, firstSeq, files, guard, durability: 'none' });
  try {
    const { start, end, repair } = current.log;
    const text = await lastTextIn(files, { path, firstSeq, range: { from: start, to: end } });
    const isClean = !isEndLost && repair === undefined && text !== undefined && isRest(text);
    const kept = isClean ? found : await withoutHoles(files, found);
    // A power cut can still undo what is not on disk: truncated bytes could reappear inside what is written from now on, or the
    // whole file could vanish and leave a previous segment that ends with a close record.
    if (!isClean) await syncFileAndName(files, path);
    return { older: kept.slice(0, -1), current, lastSeq: lastSeqOf(text, last), isClean };
  } catch (error) {
    closeSegment(current);
    throw error;
  }
}

function lastSeqOf(text: string | undefined, { path, firstSeq }: Segment): number {
  const seq = text === undefined ? firstSeq - 1 : seqIn(text);
  if (seq !== undefined) return seq;
  throw fileFailure(path, 'read', new Error('its last line has no number'));
}

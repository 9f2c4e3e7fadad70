import { dirname } from 'node:path';
import { PolypodError } from '../../base/index.ts';
import { type AppendLog, createFeedNow, type FeedFile, type Files, fileFailure } from '../../store/index.ts';
import { cutFile, isRemoved, closeSegment, syncFile, syncFileAndName } from './disk.ts';
import { type SegmentList, openSegmentList } from './segment-list.ts';
import { withoutDamaged, withoutLost } from './recover-segments.ts';
import { type FeedRecord, isRest, restAfter, seqIn } from './record.ts';
import {
  eventsIn,
  lastEventsIn,
  removedEventsError,
  offsetAfter,
  type Segment,
  segmentAt,
  segmentsIn,
} from './segment.ts';

export interface SegmentsOptions {
  readonly sessionId: string;
  readonly files: Files;
  /** Called before and after every write. Throws if this process no longer owns the feed, as `Lock.assertOwner` does. */
  readonly guard?: () => void;
  /** A new segment starts when the current one reaches this size in bytes. */
  readonly segmentBytes?: number;
  /** The maximum number of segments. */
  readonly segments?: number;
}

const DEFAULTS = { guard: () => {}, segmentBytes: 8 * 1024 * 1024, segments: 4 } as const;

/**
 * Opens the feed in a directory, which may be missing. Of a feed that was closed, only the end is read and nothing is written.
 * Otherwise an unfinished last line is truncated, and segments before a gap are removed. A last file whose start is damaged is
 * set aside, and the feed is not clean.
 */
export async function openSegments(directory: string, options: SegmentsOptions): Promise<Segments> {
  const settings = { ...DEFAULTS, ...options };
  try {
    settings.guard();
    const found = await withoutLost(settings.files, segmentsIn(settings.files, directory));
    const { kept, isDamaged } = await withoutDamaged(settings.files, found);
    return new Segments(directory, settings, await openSegmentList(settings, kept, isDamaged));
  } catch (error) {
    throw fileFailure(directory, 'open', error);
  }
}

/**
 * A session's numbered events on disk: files of a few megabytes each. The oldest is removed when a new one starts. Numbers
 * increase and may have gaps. A segment starts with the number after the last one of the previous segment, which is how a lost
 * end is detected.
 *
 * Appended events survive a kill of the process. The feed is synced when it is closed; until then a power cut may remove its end.
 */
export class Segments {
  readonly #directory: string;
  readonly #settings: Required<SegmentsOptions>;
  #list: SegmentList;
  #isClosed = false;
  #isDirectoryNew = false;
  #marking: Promise<void> | undefined;

  constructor(directory: string, settings: Required<SegmentsOptions>, list: SegmentList) {
    this.#directory = directory;
    this.#settings = settings;
    this.#list = list;
  }

  /** The first readable number; the one after the last if there are no events. */
  get firstSeq(): number {
    const { older, current, lastSeq } = this.#list;
    return older[0]?.firstSeq ?? current?.firstSeq ?? lastSeq + 1;
  }

  /** The last number given to an event; 0 if there was none. */
  get lastSeq(): number {
    return this.#list.lastSeq;
  }

  /** Whether its last writer closed it and nothing was written since, so that nothing is lost. */
  get isClean(): boolean {
    return this.#list.isClean;
  }

  /**
   * Writes events with increasing numbers in one synchronous write; throws if that fails. After a failed write, no other write is
   * tried: abandon the feed and open it again.
   */
  append(records: readonly FeedRecord[]): void {
    this.#assertOpen();
    const [first, last] = [records[0], records.at(-1)];
    if (first === undefined || last === undefined) return;
    assertGrowing(records, this.lastSeq);
    const { log } = this.#withRoom() ?? this.#begin(this.lastSeq === 0 ? first.seq : this.lastSeq + 1);
    const texts = records.map(({ text }) => text);
    write(log, texts);
    this.#marking ??= this.#mark(log.path);
    this.#list = { ...this.#list, lastSeq: last.seq, isClean: false };
    this.#removeOldest();
  }

  /**
   * Resolves when the first append, which follows the close record, is on disk. Await it before publishing an event: otherwise a
   * power cut could leave a feed that looks complete. It costs one sync each time a feed is opened and written to.
   */
  async marked(): Promise<void> {
    await this.#marking;
  }

  /**
   * The written events with greater numbers, in order, one batch per read. Rejects with `not-found` if they have been removed,
   * and with `conflict` if the file is damaged.
   */
  read(after: number): AsyncGenerator<readonly string[]> {
    return eventsAfter(this.#settings.files, this.#segments(), { after, firstSeq: this.firstSeq });
  }

  /** Whether the event with this number can be read. */
  async has(seq: number): Promise<boolean> {
    const segment = this.#segments().findLast(({ firstSeq }) => firstSeq <= seq);
    if (segment === undefined) return false;
    for await (const [first] of eventsIn(this.#settings.files, segment, seq - 1))
      return first !== undefined && seqIn(first) === seq;
    return false;
  }

  /** The last `count` events in order, or all that exist. */
  async tail(count: number): Promise<readonly string[]> {
    let events: readonly string[] = [];
    for (const segment of this.#segments().toReversed()) {
      if (events.length >= count) break;
      const before = await lastEventsIn(this.#settings.files, segment, count - events.length);
      events = [...before, ...events];
    }
    return events;
  }

  /** Removes the events after a number, which were never published. Only before the first append. */
  async cutAfter(seq: number): Promise<void> {
    this.#assertOpen();
    const { current, lastSeq } = this.#list;
    if (current === undefined || seq >= lastSeq) return;
    const { files, guard } = this.#settings;
    const whole = this.#segments().map(({ firstSeq }) => segmentAt(this.#directory, firstSeq));
    const kept = whole.filter(({ firstSeq }, index) => index === 0 || firstSeq <= seq);
    try {
      guard();
      await current.log.close();
      // From the end, each removal synced before the next: a crash in between leaves no gap.
      for (const { path } of whole.slice(kept.length).toReversed()) files.unlink(path);
      if (kept.length < whole.length) await files.syncDirectory(this.#directory);
      const last = kept.at(-1);
      if (last !== undefined) await cutFile(files, last.path, await offsetAfter(files, last, seq));
      this.#list = await openSegmentList(this.#settings, kept);
    } catch (error) {
      this.#isClosed = true;
      throw fileFailure(this.#directory, 'cut', error);
    }
  }

  /**
   * Restarts at this number, which must be unused: no earlier event can be read any more. An empty feed only remembers the number
   * and writes nothing; otherwise an empty segment records it.
   */
  async forget(nextSeq: number): Promise<void> {
    this.#assertOpen();
    if (nextSeq <= this.lastSeq) throw new PolypodError('internal', `the number ${nextSeq} is already used`);
    const isEmpty = this.#list.current === undefined;
    this.#list = { ...this.#list, lastSeq: nextSeq - 1, isClean: false };
    if (isEmpty) return;
    const { files } = this.#settings;
    try {
      const { log } = this.#beginningWith(nextSeq) ?? this.#begin(nextSeq);
      await syncFileAndName(files, log.path);
      for (const { path } of this.#list.older) files.unlink(path);
      this.#list = { ...this.#list, older: [] };
      await files.syncDirectory(this.#directory);
    } catch (error) {
      throw fileFailure(this.#directory, 'restart', error);
    }
  }

  /** Appends the close record, syncs everything and closes the file. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const log = this.#list.current?.log;
    if (log === undefined) return;
    try {
      if (log.failure === undefined && !this.isClean) await this.#rest(log);
    } catch (error) {
      throw fileFailure(this.#directory, 'close', error);
    } finally {
      await log.close();
    }
  }

  /** Closes the file without writing, as after a failure. */
  abandon(): void {
    this.#isClosed = true;
    closeSegment(this.#list.current);
  }

  /** Returns the current segment if it has room. Also after a failed write: appending to it throws the error. */
  #withRoom(): FeedFile | undefined {
    const { current, lastSeq } = this.#list;
    if (current === undefined) return undefined;
    const { failure, end } = current.log;
    const isFull = end >= this.#settings.segmentBytes && lastSeq >= current.firstSeq;
    return isFull && failure === undefined ? undefined : current;
  }

  /** Returns the current segment if it starts with this unused number, and so has no events. */
  #beginningWith(firstSeq: number): FeedFile | undefined {
    const { current } = this.#list;
    return current?.firstSeq === firstSeq ? current : undefined;
  }

  #begin(firstSeq: number): FeedFile {
    const { files, guard, sessionId } = this.#settings;
    // First what a crash before the last removal left: crash after crash must not add up.
    this.#removeOldest();
    const { older, current } = this.#list;
    if (current === undefined) this.#makeDirectory();
    const { path } = segmentAt(this.#directory, firstSeq);
    const begun = createFeedNow(path, { sessionId, firstSeq, files, guard });
    closeSegment(current);
    this.#list = {
      ...this.#list,
      older: current === undefined ? older : [...older, segmentAt(this.#directory, current.firstSeq)],
      current: begun,
    };
    return begun;
  }

  #mark(path: string): Promise<void> {
    const marking = syncFileAndName(this.#settings.files, path).catch((error: unknown) => {
      throw fileFailure(path, 'append to', error);
    });
    // `sync` reports the error.
    marking.catch(() => {});
    return marking;
  }

  #makeDirectory(): void {
    try {
      this.#settings.guard();
      this.#settings.files.makeDirectory(this.#directory);
      this.#isDirectoryNew = true;
    } catch (error) {
      throw fileFailure(this.#directory, 'make', error);
    }
  }

  #removeOldest(): void {
    const { files, segments } = this.#settings;
    const { older } = this.#list;
    const surplus = older.slice(0, Math.max(0, older.length + 1 - segments));
    for (const { path } of surplus) {
      // The events are written. A segment that cannot be removed is tried again before any later one, so there is no gap.
      if (!isRemoved(files, path)) return;
      this.#list = { ...this.#list, older: this.#list.older.slice(1) };
    }
  }

  /** The close record is written only after everything before it is on disk. */
  async #rest(log: AppendLog): Promise<void> {
    const { files } = this.#settings;
    await Promise.all(this.#segments().map(({ path }) => syncFile(files, path)));
    await files.syncDirectory(this.#directory);
    if (this.#isDirectoryNew) await files.syncDirectory(dirname(this.#directory));
    write(log, [restAfter(this.lastSeq)]);
    await syncFile(files, log.path);
  }

  /** The readable part at this moment. */
  #segments(): readonly Segment[] {
    const { older, current } = this.#list;
    if (current === undefined) return older;
    const { start, end } = current.log;
    return [...older, segmentAt(this.#directory, current.firstSeq, { from: start, to: end })];
  }

  #assertOpen(): void {
    if (this.#isClosed)
      throw new PolypodError('conflict', 'the feed is closed. Open the session again to continue.');
  }
}

async function* eventsAfter(
  files: Files,
  segments: readonly Segment[],
  { after, firstSeq }: { readonly after: number; readonly firstSeq: number },
): AsyncGenerator<readonly string[]> {
  if (after + 1 < firstSeq) throw removedEventsError(after + 1);
  for (const [index, segment] of segments.entries()) {
    const next = segments[index + 1];
    if (next === undefined || next.firstSeq > after + 1) yield* eventsIn(files, segment, after);
  }
}

/** Synchronous, in one write. */
function write(log: AppendLog, texts: readonly string[]): void {
  const { end } = log;
  // The outcome is checked below without awaiting.
  log.append(texts, false).catch(() => {});
  log.flush();
  if (log.failure !== undefined) throw log.failure;
  if (log.end === end)
    throw new PolypodError('internal', 'an event is the JSON text of one object, on one line');
}

function assertGrowing(records: readonly FeedRecord[], after: number): void {
  let last = after;
  for (const { seq, text } of records) {
    if (seq <= last || seqIn(text) !== seq)
      throw refused(seq, `it does not begin with a number above ${last}`);
    if (isRest(text)) throw refused(seq, 'it has the format of a close record');
    last = seq;
  }
}

function refused(seq: number, reason: string): PolypodError {
  return new PolypodError('internal', `the event ${seq} cannot be written: ${reason}`);
}

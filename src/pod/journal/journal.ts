import { asPolypodError, type JsonObject, PolypodError, tryParse } from '../../base/index.ts';
import type { AppendLog } from '../../store/index.ts';
import type { PodEvent, PodFact } from '../event.ts';
import { Feed, type Segments } from '../feed/index.ts';
import type { RecordedReceipt } from '../receipts.ts';
import {
  ACCEPTED,
  type AgentMessage,
  type Body,
  encodeEntry,
  type Entry,
  MARK,
  type SessionTree,
} from '../session/index.ts';
import type { Recorder } from './recorder.ts';

/** An event that is to be published, with what only the session file is told of it. */
export interface UnnumberedEvent {
  readonly fact: PodFact;
  /** The command that it is the effect of, if that came under a key. */
  readonly signed?: RecordedReceipt | undefined;
  /** The message that stands for the input in the file, if it is not a plain one. */
  readonly message?: AgentMessage | undefined;
  readonly shellId?: string | undefined;
}

/** Numbers this far past the last entry may have been given out: a crash may have taken the events, not the entry. */
export const RESERVED = 10_000;
const MARK_EVERY = RESERVED / 2;
/** So many events are worth a write of their own. */
const ENOUGH = 256;

export interface JournalParts {
  readonly tree: () => SessionTree;
  /** Opened at the first entry: a session in which nothing happened has no file. */
  readonly session: () => Promise<AppendLog>;
  readonly segments: Segments;
  readonly recorder: Recorder;
  readonly lastSeq: number;
  /** The number on the last entry of the session. */
  readonly lastEntrySeq: number;
  readonly watcherLimit: number;
  /** Nothing can be written any more, so nothing is told any more. */
  readonly onFailure: (error: PolypodError) => void;
}

interface Pending {
  readonly events: PodEvent[];
  readonly records: { readonly seq: number; readonly text: string }[];
  readonly lines: string[];
  /** Whether the lines only mark how far the numbers are. */
  isMarkOnly: boolean;
  /** The number on the last of the lines. */
  entrySeq: number;
}

function nothingPending(): Pending {
  return { events: [], records: [], lines: [], isMarkOnly: true, entrySeq: 0 };
}

/**
 * Numbers events, writes them, and only then has them told.
 *
 * The events of one turn of the loop are written together, if there are not too many of them: first to the feed, which is
 * not synced, then, as far as they leave entries, to the session file, which is. So after a kill the feed knows at least
 * what the session knows, and what it knows beyond that was told to nobody and is cut off at the next opening; after a
 * power cut it may know less, and then those who come back are given a snapshot.
 */
export class Journal {
  readonly feed: Feed<PodEvent>;
  readonly #parts: JournalParts;
  #session: AppendLog | undefined;
  #lastSeq: number;
  #lastEntrySeq: number;
  /** The number on the last entry that the disk has. */
  #safeSeq: number;
  /** Numbers of the turns that began in this process. */
  readonly #turnStarts: number[] = [];
  #pending = nothingPending();
  /** Becomes safe while events are told. */
  #marking: Promise<void> = Promise.resolve();
  #pumping = false;
  /** The pump's turn, as long as it has not come. */
  #due: NodeJS.Immediate | undefined;
  #failure: PolypodError | undefined;
  #waiting: {
    readonly seq: number;
    readonly resolve: () => void;
    readonly reject: (error: PolypodError) => void;
  }[] = [];

  constructor(parts: JournalParts) {
    this.#parts = parts;
    this.#lastSeq = parts.lastSeq;
    this.#lastEntrySeq = parts.lastEntrySeq;
    this.#safeSeq = parts.lastEntrySeq;
    const read = (after: number) => this.#read(after);
    this.feed = new Feed<PodEvent>({ read }, parts.lastSeq, parts.watcherLimit);
  }

  get lastSeq(): number {
    return this.#lastSeq;
  }

  get failure(): PolypodError | undefined {
    return this.#failure;
  }

  /** Numbers an event now; it is written and told in the next turn of the loop. Answers with its first entry's id. */
  publish(draft: UnnumberedEvent): string | undefined {
    if (this.#failure !== undefined) throw this.#failure;
    const { fact, signed, message } = draft;
    const seq = (this.#lastSeq += 1);
    const entries: Entry[] = [];
    const place = (body: Body): Entry => {
      const entry = this.#parts.tree().append(body, extrasOf(seq, draft));
      entries.push(entry);
      return entry;
    };
    this.#parts.recorder.record(fact, message, place);
    if (signed !== undefined && entries.length === 0) place(ACCEPTED.body({}));
    // A mark keeps a number and not the event.
    const entryId = entries[0]?.id;
    if (entryId !== undefined) this.#pending.isMarkOnly = false;
    else if (seq - this.#lastEntrySeq >= MARK_EVERY) place(MARK.body({}));
    const event: PodEvent = entryId === undefined ? { seq, ...fact } : { seq, ...fact, entryId };
    if (fact.type === 'turn-start') this.#turnStarts.push(seq);
    const { events, records, lines } = this.#pending;
    events.push(event);
    records.push({ seq, text: encodeEvent(event) });
    for (const entry of entries) {
      this.#lastEntrySeq = this.#pending.entrySeq = seq;
      // The receipt on the last line: whoever finds it finds all that it is for.
      const isLast = entry === entries.at(-1);
      const more = isLast ? signed && { receipt: signed } : { more: true };
      lines.push(
        encodeEntry(more === undefined ? entry : { ...entry, extras: { ...entry.extras, ...more } }),
      );
    }
    this.#schedule();
    return entryId;
  }

  /** Resolves when all that was published so far is written, safe and told. */
  written(): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (this.feed.toldSeq >= this.#lastSeq) return Promise.resolve();
    const seq = this.#lastSeq;
    return new Promise((resolve, reject) => this.#waiting.push({ seq, resolve, reject }));
  }

  /** Whether all that follows this number can be told. */
  async canResume(after: number): Promise<boolean> {
    const { segments } = this.#parts;
    if (after === this.feed.toldSeq) return true;
    if (after > this.feed.toldSeq || after < segments.firstSeq - 1) return false;
    // The number that this process began after need not be an event's: after a kill some are passed over.
    const isStart = after === 0 || after === segments.firstSeq - 1 || after === this.#parts.lastSeq;
    return isStart || (await segments.has(after));
  }

  /** What was told of the turn that a number lies in, up to that number; undefined when its start is no longer kept. */
  async turnUntil(seq: number): Promise<readonly PodEvent[] | undefined> {
    const { firstSeq } = this.#parts.segments;
    const start = this.#turnStarts.findLast((turn) => turn <= seq && turn >= firstSeq);
    let events: PodEvent[] = [];
    let isWhole = start !== undefined || firstSeq === 1;
    for await (const read of this.#read((start ?? firstSeq) - 1)) {
      for (const event of read) {
        if (event.seq > seq) return isWhole ? events : undefined;
        // Nothing of an earlier turn can be told once its numbers are lost.
        const isStart = event.type === 'turn-start' || (event.type === 'recovered' && event.seq === firstSeq);
        if (isStart) events = [];
        isWhole ||= isStart;
        events.push(event);
      }
    }
    return isWhole ? events : undefined;
  }

  /** Writes what is left and ends all watchers. */
  async close(): Promise<void> {
    try {
      await this.written();
      await this.#parts.segments.close();
    } catch (error) {
      this.#fail(asPolypodError(error));
      throw error;
    } finally {
      this.#failure ??= closed();
      this.feed.end();
      // What was published while the files were closed is never written.
      this.#refuseWaiting(this.#failure);
    }
  }

  #schedule(): void {
    if (!this.#pumping) {
      this.#pumping = true;
      // Later in this turn than all callbacks of sockets, so that one write takes what they all bring.
      this.#due = setImmediate(() => this.#start());
    } else if (this.#due !== undefined && this.#pending.events.length >= ENOUGH) {
      // One turn may read a megabyte from a fast provider: nothing is gained by holding all of it.
      clearImmediate(this.#due);
      this.#due = undefined;
      queueMicrotask(() => this.#start());
    }
  }

  #start(): void {
    this.#due = undefined;
    this.#pump().catch((error: unknown) => this.#fail(asPolypodError(error)));
  }

  async #pump(): Promise<void> {
    while (this.#pending.events.length > 0) {
      const pending = this.#pending;
      this.#pending = nothingPending();
      this.#parts.segments.append(pending.records);
      await this.#parts.segments.marked();
      if (pending.lines.length > 0) await this.#keep(pending);
      this.feed.tell(pending.events);
      this.#wake();
    }
    this.#pumping = false;
  }

  /** Waits until the lines are safe, or at least the last mark, if what is to be told is within what that one reserves. */
  async #keep({ events, lines, isMarkOnly, entrySeq }: Pending): Promise<void> {
    this.#session ??= await this.#parts.session();
    await this.#marking;
    const appended = this.#session.append(lines, true);
    this.#session.flush();
    const safe = appended.then(() => {
      this.#safeSeq = entrySeq;
    });
    if (!isMarkOnly || (events.at(-1)?.seq ?? 0) >= this.#safeSeq + RESERVED) return safe;
    this.#marking = safe;
    safe.catch((error: unknown) => this.#fail(asPolypodError(error)));
  }

  #wake(): void {
    if (this.#waiting.length === 0) return;
    const told = this.feed.toldSeq;
    const done = this.#waiting.filter(({ seq }) => seq <= told);
    this.#waiting = this.#waiting.filter(({ seq }) => seq > told);
    for (const { resolve } of done) resolve();
  }

  #fail(error: PolypodError): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    this.#parts.segments.abandon();
    this.feed.end(error);
    this.#refuseWaiting(error);
    this.#parts.onFailure(error);
  }

  #refuseWaiting(error: PolypodError): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { reject } of waiting) reject(error);
  }

  async *#read(after: number): AsyncGenerator<readonly PodEvent[]> {
    for await (const texts of this.#parts.segments.read(after)) yield texts.map(eventIn);
  }
}

function closed(): PolypodError {
  return new PolypodError('conflict', 'the pod is closed: open it again');
}

/** What the entries of an event carry beside what they say. */
function extrasOf(seq: number, { fact, shellId }: UnnumberedEvent): JsonObject {
  return {
    seq,
    ...(fact.type === 'input' && fact.queueId !== undefined ? { queueId: fact.queueId } : {}),
    ...(shellId === undefined ? {} : { shellId }),
  };
}

/** The JSON of an event. Deltas come by the ten thousand: put together by hand they cost half of what JSON.stringify takes. */
export function encodeEvent(event: PodEvent): string {
  if (event.type !== 'block-delta' || event.entryId !== undefined) return JSON.stringify(event);
  const { seq, index, delta } = event;
  const content =
    delta.type === 'input-json'
      ? `"json":${JSON.stringify(delta.json)}`
      : `"text":${JSON.stringify(delta.text)}`;
  return `{"seq":${seq},"type":"block-delta","index":${index},"delta":{"type":"${delta.type}",${content}}}`;
}

/** An event of the feed, whose checksum the store has verified. */
export function eventIn(text: string): PodEvent {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- we wrote it, and it was written whole
  return tryParse(text) as PodEvent;
}

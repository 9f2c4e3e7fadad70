import {
  asPolypodError,
  type JsonObject,
  PolypodError,
  tryParse,
  withoutUndefined,
} from '../../base/index.ts';
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

/** An event to publish, with data that only the session file records. */
export interface UnnumberedEvent {
  readonly fact: PodFact;
  /** The receipt of the command that caused the event, if the command has an idempotency key. */
  readonly recorded?: RecordedReceipt | undefined;
  /** The message that the file records for the input, if it is not a plain one. */
  readonly message?: AgentMessage | undefined;
  readonly shellId?: string | undefined;
}

/** How many numbers past the last entry may have been assigned: a crash may lose the events but keep the entry. */
export const RESERVED = 10_000;
const MARK_EVERY = RESERVED / 2;
/** The number of events that is written without waiting for more. */
const ENOUGH = 256;

export interface JournalParts {
  readonly tree: () => SessionTree;
  /** Opened at the first entry: a session without entries has no file. */
  readonly session: () => Promise<AppendLog>;
  readonly segments: Segments;
  readonly recorder: Recorder;
  readonly lastSeq: number;
  /** The number of the session's last entry. */
  readonly lastEntrySeq: number;
  readonly watcherLimit: number;
  /** Called when the log cannot be written. Nothing is published afterwards. */
  readonly onFailure: (error: PolypodError) => void;
}

interface Pending {
  readonly events: PodEvent[];
  readonly records: { readonly seq: number; readonly text: string }[];
  readonly lines: string[];
  /** Whether the lines only reserve numbers. */
  isMarkOnly: boolean;
  /** The number on the last of the lines. */
  entrySeq: number;
}

function nothingPending(): Pending {
  return { events: [], records: [], lines: [], isMarkOnly: true, entrySeq: 0 };
}

/**
 * Numbers events, writes them, and then publishes them.
 *
 * The events of one event loop turn are written together, up to a limit: first to the feed, which is not synced, then the entries
 * to the session file, which is synced. So after a kill the feed contains at least what the session contains. Events beyond that
 * were not published, and are removed at the next open. After a power cut the feed may contain less; reconnecting clients then
 * receive a snapshot.
 */
export class Journal {
  readonly feed: Feed<PodEvent>;
  readonly #parts: JournalParts;
  #session: AppendLog | undefined;
  #lastSeq: number;
  #lastEntrySeq: number;
  /** The number of the last entry on disk. */
  #safeSeq: number;
  /** Numbers of the `turn-start` events of this process. */
  readonly #turnStarts: number[] = [];
  #pending = nothingPending();
  /** Resolves when the last mark is on disk; events are published meanwhile. */
  #marking: Promise<void> = Promise.resolve();
  #pumping = false;
  /** The scheduled pump, until it starts. */
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

  /**
   * Assigns a number to an event, which is written and published in the next event loop turn. Returns the id of its first entry.
   */
  publish(draft: UnnumberedEvent): string | undefined {
    if (this.#failure !== undefined) throw this.#failure;
    const { fact, recorded, message } = draft;
    const seq = (this.#lastSeq += 1);
    const entries: Entry[] = [];
    const add = (body: Body): Entry => {
      const entry = this.#parts.tree().append(body, extrasOf(seq, draft));
      entries.push(entry);
      return entry;
    };
    this.#parts.recorder.record(fact, message, add);
    if (recorded !== undefined && entries.length === 0) add(ACCEPTED.body({}));
    // A mark reserves numbers and records no event.
    const entryId = entries[0]?.id;
    if (entryId !== undefined) this.#pending.isMarkOnly = false;
    else if (seq - this.#lastEntrySeq >= MARK_EVERY) add(MARK.body({}));
    const event: PodEvent = entryId === undefined ? { seq, ...fact } : { seq, ...fact, entryId };
    if (fact.type === 'turn-start') this.#turnStarts.push(seq);
    const { events, records, lines } = this.#pending;
    events.push(event);
    records.push({ seq, text: encodeEvent(event) });
    for (const entry of entries) {
      this.#lastEntrySeq = this.#pending.entrySeq = seq;
      // The last line carries the receipt, so that a receipt implies all lines of its command.
      const isLast = entry === entries.at(-1);
      const more = isLast ? recorded && { receipt: recorded } : { more: true };
      lines.push(
        encodeEntry(more === undefined ? entry : { ...entry, extras: { ...entry.extras, ...more } }),
      );
    }
    this.#schedule();
    return entryId;
  }

  /** Resolves when all events so far are on disk and published. */
  written(): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (this.feed.publishedSeq >= this.#lastSeq) return Promise.resolve();
    const seq = this.#lastSeq;
    return new Promise((resolve, reject) => this.#waiting.push({ seq, resolve, reject }));
  }

  /** Whether all events after this number can be published again. */
  async canResume(after: number): Promise<boolean> {
    const { segments } = this.#parts;
    if (after === this.feed.publishedSeq) return true;
    if (after > this.feed.publishedSeq || after < segments.firstSeq - 1) return false;
    // The first number of this process need not belong to an event: after a kill some numbers are skipped.
    const isStart = after === 0 || after === segments.firstSeq - 1 || after === this.#parts.lastSeq;
    return isStart || (await segments.has(after));
  }

  /**
   * The published events of the turn that contains a number, up to that number; undefined if the start of the turn is no longer
   * on disk.
   */
  async turnUntil(seq: number): Promise<readonly PodEvent[] | undefined> {
    const { firstSeq } = this.#parts.segments;
    const start = this.#turnStarts.findLast((turn) => turn <= seq && turn >= firstSeq);
    let events: PodEvent[] = [];
    let isWhole = start !== undefined || firstSeq === 1;
    for await (const read of this.#read((start ?? firstSeq) - 1)) {
      for (const event of read) {
        if (event.seq > seq) return isWhole ? events : undefined;
        // If the numbers of an earlier turn are lost, its events cannot be published.
        const isStart = event.type === 'turn-start' || (event.type === 'recovered' && event.seq === firstSeq);
        if (isStart) events = [];
        isWhole ||= isStart;
        events.push(event);
      }
    }
    return isWhole ? events : undefined;
  }

  /** Writes pending events and ends all watchers. */
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
      // Events published while the files were being closed are never written.
      this.#refuseWaiting(this.#failure);
    }
  }

  #schedule(): void {
    if (!this.#pumping) {
      this.#pumping = true;
      // Runs after all socket callbacks of this turn, so that one write contains all their events.
      this.#due = setImmediate(() => this.#start());
    } else if (this.#due !== undefined && this.#pending.events.length >= ENOUGH) {
      // One turn may read a megabyte from a fast provider; waiting longer has no benefit.
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
      this.feed.publish(pending.events);
      this.#wake();
    }
    this.#pumping = false;
  }

  /**
   * Waits until the lines are on disk. A mark is not awaited while the events are within the numbers that the previous mark
   * reserves.
   */
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
    const published = this.feed.publishedSeq;
    const done = this.#waiting.filter(({ seq }) => seq <= published);
    this.#waiting = this.#waiting.filter(({ seq }) => seq > published);
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

/** The additional fields of an event's entries. */
function extrasOf(seq: number, { fact, shellId }: UnnumberedEvent): JsonObject {
  return {
    seq,
    ...(fact.type === 'input' && fact.queueId !== undefined ? { queueId: fact.queueId } : {}),
    ...withoutUndefined({ shellId }),
  };
}

/** Encodes an event as JSON. Deltas are frequent: building them by hand takes half the time of JSON.stringify. */
export function encodeEvent(event: PodEvent): string {
  if (event.type !== 'block-delta' || event.entryId !== undefined) return JSON.stringify(event);
  const { seq, index, delta } = event;
  const content =
    delta.type === 'input-json'
      ? `"json":${JSON.stringify(delta.json)}`
      : `"text":${JSON.stringify(delta.text)}`;
  return `{"seq":${seq},"type":"block-delta","index":${index},"delta":{"type":"${delta.type}",${content}}}`;
}

/** Decodes an event of the feed, whose checksum the store has verified. */
export function eventIn(text: string): PodEvent {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- we wrote it, and it was written whole
  return tryParse(text) as PodEvent;
}

import type { PodEvent, Snapshot } from '../../../pod/index.ts';
import { isFor, type ClientKind, type WireLine } from './wire-lines.ts';
import type { RequestId, WireEvent } from '../wire.ts';

/** A pod event and its lines, for both kinds of clients. */
export interface EventLines {
  readonly event: PodEvent;
  readonly lines: readonly WireLine[];
}

/** A pod event or a snapshot, with its lines for clients that know the extensions. */
export interface ProjectedEvent {
  /** Undefined for lines about the connection itself: the subscription, or why it ends. */
  readonly source: PodEvent | { readonly type: 'snapshot'; readonly snapshot: Snapshot } | undefined;
  readonly lines: readonly WireEvent[];
}

/** Lines that are sent together, as objects and as bytes. */
export class Lines {
  readonly events: readonly WireEvent[];
  #bytes: Buffer | undefined;

  constructor(events: readonly WireEvent[]) {
    this.events = events;
  }

  /** Serialized on first use: clients in process do not need it. */
  get bytes(): Buffer {
    return (this.#bytes ??= Buffer.from(this.events.map((event) => `${JSON.stringify(event)}\n`).join('')));
  }
}

/** Pod events that are sent together. All clients of one kind get the same lines, so they are created once. */
export class EncodedBatch {
  readonly #events: readonly EventLines[];
  readonly #lines = new Map<ClientKind, Lines>();
  #projected: readonly ProjectedEvent[] | undefined;

  constructor(batch: readonly EventLines[]) {
    this.#events = batch;
  }

  get lastSeq(): number {
    return this.#events.at(-1)?.event.seq ?? 0;
  }

  /** The part after an event number. */
  lines(kind: ClientKind, after: number): Lines {
    if (this.#beginsAfter(after)) return this.#wholeLines(kind);
    return linesOf(
      kind,
      this.#events.filter(({ event }) => event.seq > after),
    );
  }

  /** The events after a number that have lines, each with its lines. */
  projected(after: number): readonly ProjectedEvent[] {
    if (this.#beginsAfter(after)) return (this.#projected ??= projectedOf(this.#events));
    return projectedOf(this.#events.filter(({ event }) => event.seq > after));
  }

  #beginsAfter(after: number): boolean {
    const [first] = this.#events;
    return first === undefined || first.event.seq > after;
  }

  #wholeLines(kind: ClientKind): Lines {
    const made = this.#lines.get(kind) ?? linesOf(kind, this.#events);
    this.#lines.set(kind, made);
    return made;
  }
}

/** An answer to all clients of a pod; serialized once for each kind of client. */
export class BroadcastAnswer {
  readonly #answer: readonly WireLine[];
  readonly #lines = new Map<ClientKind, Lines>();

  constructor(lines: readonly WireLine[]) {
    this.#answer = lines;
  }

  lines(kind: ClientKind): Lines {
    const made = this.#lines.get(kind) ?? answerLines(kind, this.#answer, {});
    this.#lines.set(kind, made);
    return made;
  }
}

/** Lines that belong to no pod event: answers and errors. */
export function answerLines(kind: ClientKind, lines: readonly WireLine[], marks: Marks): Lines {
  return new Lines(lines.filter((one) => isFor(kind, one)).map(({ line }) => ({ ...line, ...marks })));
}

export interface Marks {
  readonly request_id?: RequestId;
  /** For a snapshot: the number of the last event that it contains. */
  readonly seq?: number;
}

function linesOf(kind: ClientKind, batch: readonly EventLines[]): Lines {
  const events: WireEvent[] = [];
  for (const one of batch) addLines(kind, one, events);
  return new Lines(events);
}

function projectedOf(batch: readonly EventLines[]): readonly ProjectedEvent[] {
  const projected: ProjectedEvent[] = [];
  for (const one of batch) {
    const lines: WireEvent[] = [];
    addLines('extended', one, lines);
    if (lines.length > 0) projected.push({ source: one.event, lines });
  }
  return projected;
}

function addLines(kind: ClientKind, { event: { seq }, lines }: EventLines, to: WireEvent[]): void {
  for (const one of lines) if (isFor(kind, one)) to.push({ ...one.line, seq });
}

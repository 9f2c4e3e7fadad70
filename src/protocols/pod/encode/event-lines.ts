import type { PodEvent, Snapshot } from '../../../pod/index.ts';
import { isFor, type ClientKind, type WireLine } from './wire-lines.ts';
import type { RequestId, WireEvent } from '../wire.ts';

/** An event of the pod and its lines, for both kinds of clients. */
export interface EventLines {
  readonly event: PodEvent;
  readonly said: readonly WireLine[];
}

/** An event of the pod, or a snapshot, beside its lines for clients that know the extensions. */
export interface ProjectedEvent {
  /** Undefined for lines about the connection itself: that it is subscribed, or why it ends. */
  readonly source: PodEvent | { readonly type: 'snapshot'; readonly snapshot: Snapshot } | undefined;
  readonly lines: readonly WireEvent[];
}

/** Lines that leave together, as objects and as bytes. */
export class Lines {
  readonly events: readonly WireEvent[];
  #bytes: Buffer | undefined;

  constructor(events: readonly WireEvent[]) {
    this.events = events;
  }

  /** Made when somebody wants them: in process nobody does. */
  get bytes(): Buffer {
    return (this.#bytes ??= Buffer.from(this.events.map((event) => `${JSON.stringify(event)}\n`).join('')));
  }
}

/** Events of a pod that were told together. Every client of a kind gets the same lines, so they are made once. */
export class EncodedBatch {
  readonly #told: readonly EventLines[];
  readonly #lines = new Map<ClientKind, Lines>();
  #projected: readonly ProjectedEvent[] | undefined;

  constructor(told: readonly EventLines[]) {
    this.#told = told;
  }

  get lastSeq(): number {
    return this.#told.at(-1)?.event.seq ?? 0;
  }

  /** What of it comes after a number. */
  lines(kind: ClientKind, after: number): Lines {
    if (this.#beginsAfter(after)) return this.#wholeLines(kind);
    return linesOf(
      kind,
      this.#told.filter(({ event }) => event.seq > after),
    );
  }

  /** The events after a number that have lines, each with its own. */
  projected(after: number): readonly ProjectedEvent[] {
    if (this.#beginsAfter(after)) return (this.#projected ??= projectedOf(this.#told));
    return projectedOf(this.#told.filter(({ event }) => event.seq > after));
  }

  #beginsAfter(after: number): boolean {
    const [first] = this.#told;
    return first === undefined || first.event.seq > after;
  }

  #wholeLines(kind: ClientKind): Lines {
    const made = this.#lines.get(kind) ?? linesOf(kind, this.#told);
    this.#lines.set(kind, made);
    return made;
  }
}

/** An answer to all clients of a pod; serialized once for each kind of client. */
export class BroadcastAnswer {
  readonly #said: readonly WireLine[];
  readonly #lines = new Map<ClientKind, Lines>();

  constructor(said: readonly WireLine[]) {
    this.#said = said;
  }

  lines(kind: ClientKind): Lines {
    const made = this.#lines.get(kind) ?? answerLines(kind, this.#said, {});
    this.#lines.set(kind, made);
    return made;
  }
}

/** Lines that stand for no event of the pod: answers and refusals. */
export function answerLines(kind: ClientKind, said: readonly WireLine[], marks: Marks): Lines {
  return new Lines(said.filter((one) => isFor(kind, one)).map(({ line }) => ({ ...line, ...marks })));
}

export interface Marks {
  readonly request_id?: RequestId;
  /** Of a snapshot: the last event that is in it. */
  readonly seq?: number;
}

function linesOf(kind: ClientKind, told: readonly EventLines[]): Lines {
  const events: WireEvent[] = [];
  for (const one of told) addLines(kind, one, events);
  return new Lines(events);
}

function projectedOf(told: readonly EventLines[]): readonly ProjectedEvent[] {
  const projected: ProjectedEvent[] = [];
  for (const one of told) {
    const lines: WireEvent[] = [];
    addLines('extended', one, lines);
    if (lines.length > 0) projected.push({ source: one.event, lines });
  }
  return projected;
}

function addLines(kind: ClientKind, { event: { seq }, said }: EventLines, to: WireEvent[]): void {
  for (const one of said) if (isFor(kind, one)) to.push({ ...one.line, seq });
}

import { isFor, type ClientKind, type WireLine } from './wire-lines.ts';
import type { RequestId, WireEvent } from './wire.ts';

/** One event of the pod, as it is told. */
export interface EventLines {
  readonly seq: number;
  readonly said: readonly WireLine[];
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

  constructor(told: readonly EventLines[]) {
    this.#told = told;
  }

  get lastSeq(): number {
    return this.#told.at(-1)?.seq ?? 0;
  }

  /** What of it comes after a number. */
  lines(kind: ClientKind, after: number): Lines {
    const first = this.#told[0];
    if (first !== undefined && first.seq <= after)
      return linesOf(
        kind,
        this.#told.filter(({ seq }) => seq > after),
      );
    const made = this.#lines.get(kind) ?? linesOf(kind, this.#told);
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
  for (const { seq, said } of told)
    for (const one of said) if (isFor(kind, one)) events.push({ ...one.line, seq });
  return new Lines(events);
}

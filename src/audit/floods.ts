import type { Audit, AuditEvent } from './event.ts';

export interface FloodLimits {
  /** The number of refusals of one kind from one address that are recorded individually per interval. */
  readonly each: number;
  /** The same limit for all kinds and addresses together. */
  readonly all: number;
  readonly intervalMs: number;
}

export const FLOOD_LIMITS: FloodLimits = { each: 20, all: 400, intervalMs: 10_000 };

interface RefusalCount {
  recorded: number;
  /** The number of events that were not recorded individually. */
  unrecorded: number;
  readonly sample: AuditEvent;
}

/**
 * Keeps a flood of refusals from filling the log: the first of each kind from each address are recorded individually, the
 * rest of the interval as one entry with a count.
 */
export class FloodLimiter {
  readonly #record: Audit;
  readonly #limits: FloodLimits;
  #counts = new Map<string, RefusalCount>();
  #recorded = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(record: Audit, limits: FloodLimits = FLOOD_LIMITS) {
    this.#record = record;
    this.#limits = limits;
  }

  record(event: AuditEvent): void {
    this.#timer ??= setTimeout(() => this.flush(), this.#limits.intervalMs).unref();
    const { each, all } = this.#limits;
    const isFull = this.#recorded >= all;
    const entry = this.#countFor(event, isFull);
    if (!isFull && entry.recorded < each) {
      entry.recorded += 1;
      this.#recorded += 1;
      this.#record(event);
    } else entry.unrecorded += event.count ?? 1;
  }

  /** Records the counts, and starts a new interval. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const counts = this.#counts;
    this.#counts = new Map();
    this.#recorded = 0;
    for (const { unrecorded, sample } of counts.values())
      if (unrecorded > 0) this.#record({ ...sample, count: unrecorded });
  }

  /** Above the overall limit, addresses are no longer distinguished: there may be any number of them. */
  #countFor({ event, door, remote, outcome }: AuditEvent, isFull: boolean): RefusalCount {
    const fields = { event, door, remote, outcome };
    const known = this.#counts.get(countKey(fields));
    if (known !== undefined) return known;
    const sample = isFull ? { ...fields, remote: 'several' } : fields;
    const entry = this.#counts.get(countKey(sample)) ?? { recorded: 0, unrecorded: 0, sample };
    this.#counts.set(countKey(sample), entry);
    return entry;
  }
}

function countKey({ event, door, remote, outcome }: AuditEvent): string {
  return JSON.stringify([event, door, remote, outcome]);
}

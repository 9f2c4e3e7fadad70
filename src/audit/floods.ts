import type { Audit, AuditEvent } from './event.ts';

export interface FloodLimits {
  /** Refusals of one kind from one address that are recorded one by one in an interval. */
  readonly each: number;
  /** Refusals of all kinds and addresses. */
  readonly all: number;
  readonly intervalMs: number;
}

export const FLOOD_LIMITS: FloodLimits = { each: 20, all: 400, intervalMs: 10_000 };

interface Run {
  recorded: number;
  /** Those that were not recorded one by one. */
  left: number;
  readonly about: AuditEvent;
}

/**
 * Keeps a flood of refusals from filling the log: the first of each kind from each address are recorded as they are, the
 * rest of the interval is one entry with their number.
 */
export class Floods {
  readonly #record: Audit;
  readonly #limits: FloodLimits;
  #runs = new Map<string, Run>();
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
    const run = this.#runOf(event, isFull);
    if (!isFull && run.recorded < each) {
      run.recorded += 1;
      this.#recorded += 1;
      this.#record(event);
    } else run.left += event.count ?? 1;
  }

  /** Records what was only counted so far, and begins a new interval. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const runs = this.#runs;
    this.#runs = new Map();
    this.#recorded = 0;
    for (const { left, about } of runs.values()) if (left > 0) this.#record({ ...about, count: left });
  }

  /** Past the limit of all, addresses are no longer told apart: there may be any number of them. */
  #runOf({ event, door, remote, outcome }: AuditEvent, isFull: boolean): Run {
    const own = { event, door, remote, outcome };
    const known = this.#runs.get(keyOf(own));
    if (known !== undefined) return known;
    const about = isFull ? { ...own, remote: 'several' } : own;
    const run = this.#runs.get(keyOf(about)) ?? { recorded: 0, left: 0, about };
    this.#runs.set(keyOf(about), run);
    return run;
  }
}

function keyOf({ event, door, remote, outcome }: AuditEvent): string {
  return JSON.stringify([event, door, remote, outcome]);
}

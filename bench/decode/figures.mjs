import { growthExponent, median } from '../statistics.mjs';

/** What was measured: CPU microseconds of one answer for each point, by round. */
export class Figures {
  #cpuUs = new Map();
  #failures = new Map();

  add(point, round, cpuUs) {
    const key = keyOf(point);
    if (!this.#cpuUs.has(key)) this.#cpuUs.set(key, []);
    this.#cpuUs.get(key)[round] = cpuUs;
  }

  fail(point, reason) {
    this.#failures.set(keyOf(point), reason);
  }

  /** A point that failed once is not tried again. */
  hasFailed(point) {
    return this.#failures.has(keyOf(point));
  }

  /** CPU microseconds for each delta. */
  perDelta(point) {
    return overRounds((round) => this.#of(point, round) / point.count);
  }

  /** How many times as much one point takes as another, compared within each round. */
  ratio(point, other) {
    return overRounds((round) => this.#of(point, round) / this.#of(other, round));
  }

  /** How the cost of an answer grows with its length, looked at within each round. */
  growth(point, counts) {
    return overRounds((round) =>
      growthExponent(counts.map((count) => ({ size: count, cost: this.#of({ ...point, count }, round) }))),
    );
  }

  toJSON() {
    return { cpuUs: Object.fromEntries(this.#cpuUs), failures: Object.fromEntries(this.#failures) };
  }

  #of(point, round) {
    return this.#cpuUs.get(keyOf(point))?.[round];
  }
}

const MAX_ROUNDS = 16;

/** The median of the rounds that have all it takes; undefined if none has. */
function overRounds(value) {
  const values = Array.from({ length: MAX_ROUNDS }, (_, round) => value(round)).filter(Number.isFinite);
  return values.length === 0 ? undefined : median(values);
}

function keyOf({ candidate, wire, work, count }) {
  return `${wire} ${work} ${count} ${candidate}`;
}

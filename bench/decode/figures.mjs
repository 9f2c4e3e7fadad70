import { growthExponent, median } from '../statistics.mjs';

/** What was measured: CPU microseconds of one answer for each point, by round. */
export class Figures {
  #cpuUs = new Map();
  #failures = new Map();
  #rounds = 0;

  add(point, round, cpuUs) {
    const key = keyOf(point);
    if (!this.#cpuUs.has(key)) this.#cpuUs.set(key, []);
    this.#cpuUs.get(key)[round] = cpuUs;
    this.#rounds = Math.max(this.#rounds, round + 1);
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
    return this.#overRounds((round) => this.#of(point, round) / point.count);
  }

  /** How many times as much one point takes as another, compared within each round. */
  ratio(point, other) {
    return this.#overRounds((round) => this.#of(point, round) / this.#of(other, round));
  }

  /** How the cost of an answer grows with its length, looked at within each round. */
  growth(point, counts) {
    return this.#overRounds((round) =>
      growthExponent(counts.map((count) => ({ size: count, cost: this.#of({ ...point, count }, round) }))),
    );
  }

  toJSON() {
    return { cpuUs: Object.fromEntries(this.#cpuUs), failures: Object.fromEntries(this.#failures) };
  }

  /** The median of the rounds that have all it takes; undefined if none has. */
  #overRounds(value) {
    const values = Array.from({ length: this.#rounds }, (_, round) => value(round)).filter(Number.isFinite);
    return values.length === 0 ? undefined : median(values);
  }

  /** What failed in one round counts in none: half the rounds right is not right. */
  #of(point, round) {
    return this.hasFailed(point) ? undefined : this.#cpuUs.get(keyOf(point))?.[round];
  }
}

function keyOf({ candidate, wire, work, count }) {
  return `${wire} ${work} ${count} ${candidate}`;
}

import { growthExponent, median } from '../statistics.mjs';

/** The measurements: CPU microseconds of one answer for each point, by round. */
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

  /** A point that failed once is not measured again. */
  hasFailed(point) {
    return this.#failures.has(keyOf(point));
  }

  /** CPU microseconds for each delta. */
  perDelta(point) {
    return this.#overRounds((round) => this.#of(point, round) / point.count);
  }

  /** The ratio of two points, compared within each round. */
  ratio(point, other) {
    return this.#overRounds((round) => this.#of(point, round) / this.#of(other, round));
  }

  /** The growth exponent of an answer's cost with its length, computed within each round. */
  growth(point, counts) {
    return this.#overRounds((round) =>
      growthExponent(counts.map((count) => ({ size: count, cost: this.#of({ ...point, count }, round) }))),
    );
  }

  toJSON() {
    return { cpuUs: Object.fromEntries(this.#cpuUs), failures: Object.fromEntries(this.#failures) };
  }

  /** The median of the rounds that have all values; undefined if there is none. */
  #overRounds(value) {
    const values = Array.from({ length: this.#rounds }, (_, round) => value(round)).filter(Number.isFinite);
    return values.length === 0 ? undefined : median(values);
  }

  /** A point that failed in one round counts in none. */
  #of(point, round) {
    return this.hasFailed(point) ? undefined : this.#cpuUs.get(keyOf(point))?.[round];
  }
}

function keyOf({ candidate, wire, work, count }) {
  return `${wire} ${work} ${count} ${candidate}`;
}

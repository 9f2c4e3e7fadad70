/** How often the door refused something since it was opened, by the error's code: words of ours, never a client's. */
export class RefusalCounts {
  readonly #counts = new Map<string, number>(ALWAYS_SHOWN.map((code) => [code, 0]));

  get total(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
  }

  add(code: string): void {
    this.#counts.set(code, (this.#counts.get(code) ?? 0) + 1);
  }

  /** In the text format of Prometheus. */
  metric(name: string): string {
    const samples = [...this.#counts].map(([code, count]) => `${name}{code="${code}"} ${count}\n`);
    return `# HELP ${name} Requests, messages, connections and tasks that were refused, by code.\n# TYPE ${name} counter\n${samples.join('')}`;
  }
}

/** The code of a task that was rejected: its answer is no error. */
export const TASK_REJECTED = 'task_rejected';

/** Also while they are 0: a rate needs a value to begin from. */
const ALWAYS_SHOWN = [
  'unauthorized',
  'missing_scope',
  'outside_key',
  'invalid_request',
  'not_found',
  'rate_limited',
  TASK_REJECTED,
];

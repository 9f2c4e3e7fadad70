/** Counts refusals since the door was opened, by error code. Codes are ours, never a client's text. */
export class RefusalCounts {
  readonly #counts = new Map<string, number>(ALWAYS_SHOWN.map((code) => [code, 0]));

  get total(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
  }

  add(code: string): void {
    this.#counts.set(code, (this.#counts.get(code) ?? 0) + 1);
  }

  /** Renders the counts in the text format of Prometheus. */
  metric(name: string): string {
    const samples = [...this.#counts].map(([code, count]) => `${name}{code="${code}"} ${count}\n`);
    return `# HELP ${name} Requests, messages, connections and tasks that were refused, by code.\n# TYPE ${name} counter\n${samples.join('')}`;
  }
}

/** The code for a rejected task: its response is not an error. */
export const TASK_REJECTED = 'task_rejected';

/** Exported even while they are 0, so that a rate has a start value. */
const ALWAYS_SHOWN = [
  'unauthorized',
  'missing_scope',
  'outside_key',
  'invalid_request',
  'not_found',
  'rate_limited',
  TASK_REJECTED,
];

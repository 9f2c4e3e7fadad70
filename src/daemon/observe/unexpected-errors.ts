import { isObject, type Log, messageOf, stringOf, systemCodeOf } from '../../base/index.ts';

/** How long the same error is counted without being logged again. */
const QUIET_MS = 60_000;
/** Errors that are remembered for that. */
const MOST_KNOWN = 100;

/**
 * Takes errors that nothing else caught. Each ends the connection or the request it happened in, and no more: the daemon logs
 * it and goes on. The same error is logged once a minute, so that a client that causes it cannot fill the log.
 */
export class UnexpectedErrors {
  readonly #log: Log;
  readonly #now: () => number;
  readonly #logged = new Map<string, { readonly at: number; repeats: number }>();
  #count = 0;

  constructor(log: Log, now: () => number = Date.now) {
    this.#log = log;
    this.#now = now;
  }

  get count(): number {
    return this.#count;
  }

  /** `where` names the door, or says that nobody knows. */
  readonly caught = (thrown: unknown, where: string): void => {
    this.#count += 1;
    const reason = messageOf(thrown).slice(0, LONGEST_REASON);
    const key = `${where} ${reason}`;
    const known = this.#logged.get(key);
    if (known !== undefined && this.#now() - known.at < QUIET_MS) {
      known.repeats += 1;
      return;
    }
    if (this.#logged.size >= MOST_KNOWN) this.#logged.clear();
    this.#logged.set(key, { at: this.#now(), repeats: 0 });
    this.#log.error('an unexpected error was contained: this is a bug in Polypod', {
      where,
      reason,
      stack: stackOf(thrown),
      ...(known === undefined || known.repeats === 0 ? {} : { repeats: known.repeats }),
    });
  };

  /** An error that reached the event loop. Answers whether the process may go on. */
  readonly uncaught = (thrown: unknown): boolean => {
    this.caught(thrown, 'unknown');
    // Node has found itself in a state that it rules out: nothing it does from here on can be relied on.
    return systemCodeOf(thrown) !== 'ERR_INTERNAL_ASSERTION';
  };
}

function stackOf(thrown: unknown): string {
  return isObject(thrown) ? stringOf(thrown.stack).slice(0, LONGEST_STACK) : '';
}

const LONGEST_REASON = 500;
const LONGEST_STACK = 4_000;

import { isObject, type Log, messageOf, stringOf, systemCodeOf } from '../../base/index.ts';

/** How long the same error is counted without being logged again. */
const QUIET_MS = 60_000;
/** The number of errors to remember for that. */
const MOST_KNOWN = 100;

/**
 * Handles errors that nothing else caught. Each error ends only the connection or request in which it happened: the daemon logs
 * it and continues. The same error is logged once a minute, so that a client that causes it cannot fill the log.
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

  /** `where` names the door, or says that it is unknown. */
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

  /** Handles an error that reached the event loop. Returns whether the process may continue. */
  readonly uncaught = (thrown: unknown): boolean => {
    this.caught(thrown, 'unknown');
    // Node.js has detected an inconsistent internal state: the process is no longer reliable.
    return systemCodeOf(thrown) !== 'ERR_INTERNAL_ASSERTION';
  };
}

function stackOf(thrown: unknown): string {
  return isObject(thrown) ? stringOf(thrown.stack).slice(0, LONGEST_STACK) : '';
}

const LONGEST_REASON = 500;
const LONGEST_STACK = 4_000;

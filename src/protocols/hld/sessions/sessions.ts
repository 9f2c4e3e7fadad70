import type { Host, Row } from '../../../pod/index.ts';
import { noSession } from '../errors.ts';
import { notesIn } from './notes.ts';
import { lacksTexts, listedSession, sessionState } from './session.ts';
import { type Phase, phaseOf } from './status.ts';
import type { ListedSession, SessionState } from '../wire.ts';

/** The sessions of the host in this protocol: one row each, whichever door created them. */
export class Sessions {
  readonly #host: Host;
  readonly #isInterrupting: (id: string) => boolean;
  readonly #now: () => number;
  /** The ids of launches in progress. */
  readonly #launches = new Set<string>();

  constructor(host: Host, isInterrupting: (id: string) => boolean, now: () => number) {
    this.#host = host;
    this.#isInterrupting = isInterrupting;
    this.#now = now;
  }

  /** Throws "not found", prefixed with the operation, if there is no such session. */
  async row(id: string, doing: string): Promise<Row> {
    const row = await this.find((candidate) => candidate.id === id, id);
    if (row === undefined) throw noSession(doing, id);
    return row;
  }

  /** The first row that matches. If the id is known, its row is checked first. */
  async find(fits: (row: Row) => boolean, id?: string): Promise<Row | undefined> {
    const known = id === undefined ? undefined : this.#host.sessions.get(id);
    return known ?? (await this.rows()).find(fits);
  }

  /** Most recent activity first. */
  rows(): Promise<readonly Row[]> {
    return this.#host.sessions.list();
  }

  phase(row: Row): Phase {
    return phaseOf({
      ...row,
      isInterrupting: this.#isInterrupting(row.id),
      isLaunching: this.#launches.has(notesIn(row.annotations)?.launch ?? ''),
      isClosed: row.closed ?? false,
    });
  }

  async listed(rows: readonly Row[]): Promise<readonly ListedSession[]> {
    const texts = await this.#host.texts.of(rows.filter(lacksTexts));
    return rows.map((row) => listedSession(row, this.phase(row), this.#now(), texts.get(row.id)));
  }

  /** A single session, with the details that only its pod has. */
  async state(row: Row): Promise<SessionState> {
    const texts = await this.#host.texts.of([row].filter(lacksTexts));
    // A session that another process has open is shown with the details of its row.
    const snapshot = await this.#host
      .pod(row.id)
      .snapshot()
      .catch(() => undefined);
    return sessionState(row, this.phase(row), this.#now(), { texts: texts.get(row.id), snapshot });
  }

  /** Marks the launch as in progress until the work is done: its session is "starting". */
  async whileLaunching<T>(mark: string, work: () => Promise<T>): Promise<T> {
    this.#launches.add(mark);
    try {
      return await work();
    } finally {
      this.#launches.delete(mark);
    }
  }
}

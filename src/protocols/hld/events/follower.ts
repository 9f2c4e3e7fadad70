import {
  asPolypodError,
  type JsonObject,
  type Log,
  type PolypodError,
  withoutUndefined,
} from '../../../base/index.ts';
import { type Change, type Host, isReaderTooSlow, type PodEvent, type Row } from '../../../pod/index.ts';
import { encode, phaseChange, type UntimedEvent } from './encode.ts';
import { isVerbose } from '../sessions/notes.ts';
import { ProjectionState } from './projection-state.ts';
import { NEVER_EXPIRES } from '../sessions/session.ts';
import { isUnused, wireStatus } from '../sessions/status.ts';
import type { HldEvent } from '../wire.ts';

export interface FollowerParts {
  readonly host: Host;
  readonly log: Log;
  readonly now: () => number;
  /** Receives all events for subscribers, in order. */
  readonly publish: (event: HldEvent, runId: string | undefined) => void;
}

interface Followed {
  readonly projection: ProjectionState;
  readonly stop: AbortController;
  /** The number of the last event that was announced. */
  last: number;
  /** Its event stream failed. The state is kept until the session's row shows the outcome. */
  isCutOff: boolean;
  /** Why its log could not be written. Sent after all events before it. */
  failure: PolypodError | undefined;
}

/**
 * Follows every active session, whichever door started its run, and emits its events in this protocol. It stops following an idle session,
 * so that its pod can be unloaded.
 */
export class Follower {
  readonly #parts: FollowerParts;
  readonly #followed = new Map<string, Followed>();
  readonly #expiries = new Map<string, NodeJS.Timeout>();
  readonly #forget: () => void;

  constructor(parts: FollowerParts) {
    this.#parts = parts;
    this.#forget = parts.host.sessions.onChange((change) => this.#changed(change));
  }

  /**
   * Follows the sessions that are active already: a daemon resumes them before it opens its doors, and `onChange` does not report
   * them before their next change. Resolves when all their further events will be received.
   */
  async start(): Promise<void> {
    const loaded: string[] = [];
    this.#parts.host.onPods((id) => loaded.push(id))();
    await Promise.all(loaded.map((id) => this.#join(id)));
  }

  isInterrupting(sessionId: string): boolean {
    return this.#followed.get(sessionId)?.projection.isInterrupting ?? false;
  }

  close(): void {
    this.#forget();
    for (const { stop } of this.#followed.values()) stop.abort();
    for (const timer of this.#expiries.values()) clearTimeout(timer);
    this.#followed.clear();
    this.#expiries.clear();
  }

  /** Emits the event for the time when a session requires permissions again; immediately if that time has passed. */
  watchExpiry(sessionId: string, until: string | undefined): void {
    clearTimeout(this.#expiries.get(sessionId));
    this.#expiries.delete(sessionId);
    if (until === undefined || until === NEVER_EXPIRES) return;
    const left = Math.min(Math.max(Date.parse(until) - this.#parts.now(), 0), LONGEST_TIMER);
    const timer = setTimeout(() => this.#expire(sessionId, until), left);
    timer.unref();
    this.#expiries.set(sessionId, timer);
  }

  #changed(change: Change): void {
    const { failure, last } = change;
    const followed = this.#followed.get(change.id);
    if (followed?.isCutOff === false) {
      [followed.last, followed.failure] = [last, failure];
      return;
    }
    if (followed !== undefined) this.#unfollow(followed);
    const projection = ProjectionState.before(change, this.#parts.host.sessions.get(change.id));
    if (failure !== undefined) {
      this.#fail(followed?.projection ?? projection, failure);
      return;
    }
    this.#begin(this.#add(projection, last));
  }

  async #join(id: string): Promise<void> {
    const { host } = this.#parts;
    const row = host.sessions.get(id);
    if (row === undefined || this.#followed.has(id)) return;
    const following = this.#add(
      ProjectionState.before({ id, before: row, publishedSeq: 0, last: 0 }, row),
      0,
    );
    const snapshot = await host
      .pod(id)
      .snapshot()
      .catch(() => undefined);
    if (snapshot !== undefined) following.projection.rebase(snapshot);
    if (snapshot === undefined || (following.projection.isQuiet && following.last <= snapshot.seq))
      this.#unfollow(following);
    else this.#begin(following);
  }

  #add(projection: ProjectionState, last: number): Followed {
    const following = { projection, stop: new AbortController(), last, isCutOff: false, failure: undefined };
    this.#followed.set(projection.sessionId, following);
    return following;
  }

  #begin(following: Followed): void {
    const { projection } = following;
    this.#follow(following)
      .catch((thrown: unknown) => {
        this.#parts.log.error('cannot follow the session', {
          sessionId: projection.sessionId,
          reason: asPolypodError(thrown).message,
        });
        following.isCutOff = following.failure === undefined;
        if (following.failure !== undefined) this.#fail(projection, following.failure);
      })
      .finally(() => {
        if (!following.isCutOff) this.#unfollow(following);
      });
  }

  /** Emits the failure of a run whose log could not be written: the session has no event for its end. */
  #fail(projection: ProjectionState, { message }: PolypodError): void {
    const before = projection.phase;
    const { lastRun } = this.#parts.host.sessions.get(projection.sessionId) ?? {};
    if (lastRun?.status !== 'failed' || wireStatus(before).status === 'failed') return;
    const { type, data } = phaseChange(projection, before, 'failed');
    this.#emit({ type, data: { ...data, error_message: message } }, projection, projection.seq);
  }

  #unfollow(followed: Followed): void {
    const { sessionId } = followed.projection;
    if (this.#followed.get(sessionId) === followed) this.#followed.delete(sessionId);
  }

  /** A burst can exceed what a watcher may leave unread. The watch then resumes after the last event. */
  async #follow(followed: Followed): Promise<void> {
    for (;;) {
      try {
        await this.#listen(followed);
        return;
      } catch (thrown) {
        if (!isReaderTooSlow(thrown)) throw thrown;
      }
    }
  }

  async #listen(followed: Followed): Promise<void> {
    const { projection, stop } = followed;
    // The watch may start in the middle of a turn: the first batch has the results of the turn that were sent before.
    const from = { after: projection.seq, wholeTurn: true, signal: stop.signal };
    let isFirst = true;
    for await (const watched of this.#parts.host.pod(projection.sessionId).watch(from)) {
      if (watched.type === 'snapshot') this.#compare(projection, () => projection.rebase(watched.snapshot));
      else if (isFirst) projection.replayTurn(watched.batch.events);
      else for (const event of watched.batch.events) this.#take(projection, event);
      isFirst = false;
      // Nothing more happens by itself; the next change starts following again.
      if (!projection.isQuiet || projection.seq < followed.last) continue;
      this.#unfollow(followed);
      return;
    }
  }

  #take(projection: ProjectionState, event: PodEvent): void {
    const now = this.#parts.now();
    for (const untimed of encode(event, projection, now)) this.#emit(untimed, projection, event.seq);
    const { skipPermissionsUntil: before } = projection.settings;
    this.#compare(projection, () => projection.apply(event, now));
    const { skipPermissionsUntil: after } = projection.settings;
    if (after !== before) this.watchExpiry(projection.sessionId, after);
  }

  #compare(projection: ProjectionState, change: () => void): void {
    const before = projection.phase;
    change();
    const after = projection.phase;
    // A session that is being launched is reported when it runs or fails. An unused session is not in the default lists.
    if (after !== before && after !== 'starting' && !isUnused(after))
      this.#emit(phaseChange(projection, before, after), projection, projection.seq);
  }

  #emit(untimed: UntimedEvent, { lastRun, settings }: About, seq?: number): void {
    const timestamp = new Date(this.#parts.now()).toISOString();
    const event = { ...untimed, timestamp, ...withoutUndefined({ seq }) };
    if (isVerbose(settings?.annotations)) this.#parts.log.info('event of a verbose session', gist(event));
    this.#parts.publish(event, lastRun?.runId);
  }

  #expire(sessionId: string, expiresAt: string): void {
    const { host, now } = this.#parts;
    const row = host.sessions.get(sessionId);
    if (row?.skipPermissionsUntil !== expiresAt) return;
    if (Date.parse(expiresAt) > now()) {
      this.watchExpiry(sessionId, expiresAt);
      return;
    }
    this.#expiries.delete(sessionId);
    this.#emit(
      {
        type: 'session_settings_changed',
        data: {
          session_id: sessionId,
          run_id: row.lastRun?.runId ?? '',
          dangerously_skip_permissions: false,
          reason: 'expired',
          expired_at: expiresAt,
        },
      },
      { lastRun: row.lastRun, settings: row },
    );
  }
}

/** The context of an event, as far as it is known. */
interface About {
  readonly lastRun?: Row['lastRun'] | undefined;
  readonly settings?: { readonly annotations?: JsonObject };
}

/** The event for the log, without the text of the conversation. */
function gist({ type, data, seq }: HldEvent): JsonObject {
  const {
    content: _,
    tool_input: _input,
    tool_result_content: _result,
    response_text: _text,
    ...rest
  } = data;
  return { type, ...rest, ...withoutUndefined({ seq }) };
}

/** The maximum delay of `setTimeout`. */
const LONGEST_TIMER = 2 ** 31 - 1;

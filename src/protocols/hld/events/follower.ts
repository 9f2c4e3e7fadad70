import { asPolypodError, type JsonObject, type Log, type PolypodError } from '../../../base/index.ts';
import {
  APPROVAL_REQUEST,
  type Change,
  type Host,
  isReaderTooSlow,
  type PodEvent,
  type Row,
} from '../../../pod/index.ts';
import { encode, phaseChange, type Told } from './encode.ts';
import { isVerbose } from '../sessions/notes.ts';
import { Scene } from './projection-state.ts';
import { FOR_GOOD } from '../sessions/session.ts';
import { isUnused, wireStatus } from '../sessions/status.ts';
import type { HldEvent } from '../wire.ts';

export interface FollowerParts {
  readonly host: Host;
  readonly log: Log;
  readonly now: () => number;
  /** Hears all that subscribers may be told, in order. */
  readonly hear: (event: HldEvent, runId: string | undefined) => void;
}

interface Followed {
  readonly scene: Scene;
  readonly stop: AbortController;
  /** The last event that is known to be coming. */
  last: number;
  /** Its events have ended with an error: what is known of it is kept until the row says what became of it. */
  isCutOff: boolean;
  /** Why its log could not be written; sent once all events before it have been. */
  failure: PolypodError | undefined;
}

/**
 * Follows every session in which something happens, whichever door it came through, and says so in the words of this wire. A
 * session that is quiet is let go of, so that its pod may leave memory.
 */
export class Follower {
  readonly #parts: FollowerParts;
  readonly #followed = new Map<string, Followed>();
  readonly #expiries = new Map<string, NodeJS.Timeout>();
  readonly #forget: () => void;

  constructor(parts: FollowerParts) {
    this.#parts = parts;
    this.#forget = parts.host.onChange((change) => this.#changed(change));
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
    return this.#followed.get(sessionId)?.scene.isInterrupting ?? false;
  }

  close(): void {
    this.#forget();
    for (const { stop } of this.#followed.values()) stop.abort();
    for (const timer of this.#expiries.values()) clearTimeout(timer);
    this.#followed.clear();
    this.#expiries.clear();
  }

  /** Says when permissions are asked again, once that time comes, or if it has come already. */
  watchExpiry(sessionId: string, until: string | undefined): void {
    clearTimeout(this.#expiries.get(sessionId));
    this.#expiries.delete(sessionId);
    if (until === undefined || until === FOR_GOOD) return;
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
    if (followed !== undefined) this.#letGo(followed);
    const scene = Scene.before(change, this.#parts.host.row(change.id));
    if (failure !== undefined) {
      this.#fail(followed?.scene ?? scene, failure);
      return;
    }
    this.#begin(this.#add(scene, last));
  }

  async #join(id: string): Promise<void> {
    const { host } = this.#parts;
    const row = host.row(id);
    if (row === undefined || this.#followed.has(id)) return;
    const following = this.#add(Scene.before({ id, before: row, told: 0, last: 0 }, row), 0);
    const snapshot = await host
      .pod(id)
      .snapshot()
      .catch(() => undefined);
    if (snapshot !== undefined) following.scene.rebase(snapshot);
    if (snapshot === undefined || (following.scene.isQuiet && following.last <= snapshot.seq))
      this.#letGo(following);
    else this.#begin(following);
  }

  #add(scene: Scene, last: number): Followed {
    const following = { scene, stop: new AbortController(), last, isCutOff: false, failure: undefined };
    this.#followed.set(scene.sessionId, following);
    return following;
  }

  #begin(following: Followed): void {
    const { scene } = following;
    this.#follow(following)
      .catch((thrown: unknown) => {
        this.#parts.log.error('a session cannot be followed', {
          sessionId: scene.sessionId,
          reason: asPolypodError(thrown).message,
        });
        following.isCutOff = following.failure === undefined;
        if (following.failure !== undefined) this.#fail(scene, following.failure);
      })
      .finally(() => {
        if (!following.isCutOff) this.#letGo(following);
      });
  }

  /** No event of the session says that its run is over: its log could not be written. */
  #fail(scene: Scene, { message }: PolypodError): void {
    const before = scene.phase;
    const { lastRun } = this.#parts.host.row(scene.sessionId) ?? {};
    if (lastRun?.status !== 'failed' || wireStatus(before).status === 'failed') return;
    const { type, data } = phaseChange(scene, before, 'failed');
    this.#tell({ type, data: { ...data, error_message: message } }, scene, scene.seq);
  }

  #letGo(followed: Followed): void {
    const { sessionId } = followed.scene;
    if (this.#followed.get(sessionId) === followed) this.#followed.delete(sessionId);
  }

  /** More may happen at once than a watcher may leave unread: it goes on where it was. */
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
    const { scene, stop } = followed;
    // It may begin in the middle of a turn: the first batch has the results of the turn that were sent before.
    const from = { after: scene.seq, wholeTurn: true, signal: stop.signal };
    let isFirst = true;
    for await (const watched of this.#parts.host.pod(scene.sessionId).watch(from)) {
      if (watched.type === 'snapshot') this.#compare(scene, () => scene.rebase(watched.snapshot));
      else if (isFirst) scene.recall(watched.batch.events);
      else
        for (const event of watched.batch.events) {
          if (scene.lacksQuestion(event)) await this.#lookUp(scene, event.approvalId);
          this.#take(scene, event);
        }
      isFirst = false;
      // Nothing more comes by itself; the next change finds it again.
      if (!scene.isQuiet || scene.seq < followed.last) continue;
      this.#letGo(followed);
      return;
    }
  }

  /** The session itself knows what its question was about; without it, that is left out. */
  async #lookUp(scene: Scene, approvalId: string): Promise<void> {
    const tree = await this.#parts.host.tree(scene.sessionId).catch(() => undefined);
    const asked = [...(tree?.entries() ?? [])].flatMap((entry) => APPROVAL_REQUEST.in(entry) ?? []);
    scene.completeQuestion(approvalId, asked.find((request) => request.approvalId === approvalId)?.callId);
  }

  #take(scene: Scene, event: PodEvent): void {
    const now = this.#parts.now();
    for (const told of encode(event, scene, now)) this.#tell(told, scene, event.seq);
    const { skipPermissionsUntil: before } = scene.settings;
    this.#compare(scene, () => scene.apply(event, now));
    const { skipPermissionsUntil: after } = scene.settings;
    if (after !== before) this.watchExpiry(scene.sessionId, after);
  }

  #compare(scene: Scene, change: () => void): void {
    const before = scene.phase;
    change();
    const after = scene.phase;
    // A session that is being launched is told of when it runs, or fails; one that nobody used is in no usual list.
    if (after !== before && after !== 'starting' && !isUnused(after))
      this.#tell(phaseChange(scene, before, after), scene, scene.seq);
  }

  #tell(told: Told, { lastRun, settings }: About, seq?: number): void {
    const timestamp = new Date(this.#parts.now()).toISOString();
    const event = { ...told, timestamp, ...(seq === undefined ? {} : { seq }) };
    if (isVerbose(settings?.annotations)) this.#parts.log.info('happened in a verbose session', gist(event));
    this.#parts.hear(event, lastRun?.runId);
  }

  #expire(sessionId: string, expiresAt: string): void {
    const { host, now } = this.#parts;
    const row = host.row(sessionId);
    if (row?.skipPermissionsUntil !== expiresAt) return;
    if (Date.parse(expiresAt) > now()) {
      this.watchExpiry(sessionId, expiresAt);
      return;
    }
    this.#expiries.delete(sessionId);
    this.#tell(
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

/** What an event is about, as far as it is known. */
interface About {
  readonly lastRun?: Row['lastRun'] | undefined;
  readonly settings?: { readonly annotations?: JsonObject };
}

/** What a log may say of an event: nothing of what was said. */
function gist({ type, data, seq }: HldEvent): JsonObject {
  const {
    content: _,
    tool_input: _input,
    tool_result_content: _result,
    response_text: _text,
    ...rest
  } = data;
  return { type, ...rest, ...(seq === undefined ? {} : { seq }) };
}

/** What `setTimeout` takes. */
const LONGEST_TIMER = 2 ** 31 - 1;

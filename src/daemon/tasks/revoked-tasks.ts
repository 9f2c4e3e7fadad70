import { existsSync } from 'node:fs';
import type { Audit } from '../../audit/index.ts';
import { asPolypodError, type Log } from '../../base/index.ts';
import type { Caller, Host, Overrides, Row } from '../../pod/index.ts';
import { type KeyRecord, readKeys, watchKeys } from '../../protocols/index.ts';
import type { DataPaths } from '../../setup/paths/index.ts';
import { keysFile } from '../../setup/paths/index.ts';

export interface RevokedTasksParts {
  readonly host: Host;
  readonly dataPaths: Pick<DataPaths, 'dataDirectory'>;
  readonly log: Log;
  readonly audit: Audit;
}

/** Cancels or pauses the tasks of keys that are revoked, while the daemon is up and when it starts. */
export class RevokedTasks {
  readonly #parts: RevokedTasksParts;
  readonly #file: string;
  #unwatch: (() => void) | undefined;
  /** Runs the sweeps one after the other. */
  #turn: Promise<void> = Promise.resolve();

  constructor(parts: RevokedTasksParts) {
    this.#parts = parts;
    this.#file = keysFile(parts.dataPaths);
  }

  /** Checks the tasks of an earlier process, and then every change of the keys, if there are any. */
  async open(): Promise<void> {
    if (!existsSync(this.#file)) return;
    this.watch();
    await this.#sweep();
  }

  /** Starts watching the keys. */
  watch(): void {
    this.#unwatch ??= watchKeys(this.#file, () => void this.#sweep());
  }

  close(): void {
    this.#unwatch?.();
  }

  #sweep(): Promise<void> {
    this.#turn = this.#turn
      .then(() => this.#look())
      .catch((thrown: unknown) =>
        this.#parts.log.error('the tasks of revoked keys could not be ended', {
          reason: asPolypodError(thrown).message,
        }),
      );
    return this.#turn;
  }

  async #look(): Promise<void> {
    const revoked = new Map(
      readKeys(this.#file)
        .filter(({ revokedAt }) => revokedAt !== undefined)
        .map((key) => [key.id, key]),
    );
    if (revoked.size === 0) return;
    const rows = (await this.#parts.host.sessions.list()).filter(
      ({ state, queued }) => state !== 'idle' || queued > 0,
    );
    await Promise.all(
      rows.map((row) =>
        this.#end(row, revoked).catch((thrown: unknown) =>
          // Another process has the session open, or the run has just ended.
          this.#parts.log.warn('a task of a revoked key could not be ended', {
            pod: row.id,
            reason: asPolypodError(thrown).message,
          }),
        ),
      ),
    );
  }

  async #end({ id }: Row, revoked: ReadonlyMap<string, KeyRecord>): Promise<void> {
    const pod = this.#parts.host.pod(id);
    const { queue, state, ...runs } = await pod.snapshot();
    // A run that has been waiting for a decision since before a restart is the last one.
    const run = runs.run ?? runs.lastRun;
    const keyOf = (overrides: Overrides | undefined): KeyRecord | undefined =>
      revoked.get(overrides?.submitter?.keyId ?? '');
    const waiting = queue.filter(({ overrides }) => keyOf(overrides) !== undefined);
    if (waiting.length > 0) {
      await pod.handle({ type: 'clear-queue', queueIds: waiting.map(({ queueId }) => queueId) }, CALLER);
      for (const { taskId, overrides } of waiting)
        this.#note('task.cancelled', { id, taskId, key: keyOf(overrides) });
    }
    const key = state === 'idle' ? undefined : keyOf(run?.overrides);
    const { revokedTasks = 'cancel' } = key ?? {};
    if (key === undefined || revokedTasks === 'keep') return;
    if (revokedTasks === 'pause' && state === 'paused') return;
    await pod.handle({ type: revokedTasks }, CALLER);
    this.#note(revokedTasks === 'pause' ? 'task.paused' : 'task.cancelled', { id, taskId: run?.taskId, key });
  }

  #note(
    event: 'task.cancelled' | 'task.paused',
    about: { readonly id: string; readonly taskId: string | undefined; readonly key: KeyRecord | undefined },
  ): void {
    const { id, taskId, key } = about;
    this.#parts.log.info('a key was revoked', { event, pod: id, taskId, keyId: key?.id });
    this.#parts.audit({
      event,
      ...CALLER,
      keyId: key?.id,
      session: id,
      target: taskId,
      details: { reason: 'the key was revoked', owner: key?.owner },
    });
  }
}

const CALLER: Caller = { by: 'key revocation', door: 'process' };

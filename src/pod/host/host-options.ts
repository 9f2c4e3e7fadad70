import type { Audit } from '../../audit/index.ts';
import type { PolypodError } from '../../base/index.ts';
import type { Durability, Files } from '../../store/index.ts';
import type { OpenAgent } from '../agent.ts';
import type { DeadlinePolicy } from '../live/approvals.ts';
import type { RefuseStart } from '../live/pod-options.ts';
import type { Row } from '../catalogue/index.ts';
import type { SettingsChange } from '../settings.ts';

export interface HostLimits {
  /** The maximum number of pods in memory. */
  readonly pods: number;
  /** The maximum number of concurrent runs. */
  readonly runs: number;
  /** The maximum number of queued messages per pod. */
  readonly queue: number;
  /** The maximum number of queued events per watcher. A watcher that exceeds it is disconnected and may resume. */
  readonly watcher: number;
}

export const DEFAULT_LIMITS: HostLimits = { pods: 2_000, runs: 200, queue: 100, watcher: 10_000 };

export interface HostOptions {
  /** The directory of sessions, feeds and the catalogue. */
  readonly directory: string;
  readonly agents: OpenAgent;
  /** The back end of new sessions that name none; our own worker if undefined. */
  readonly defaultBackend?: () => string | undefined;
  readonly files?: Files;
  /** Which failures an accepted command survives; see `Durability`. */
  readonly durability?: Durability;
  readonly limits?: Partial<HostLimits>;
  readonly hibernateAfterMs?: number;
  /** How long approvals wait; by default without a limit. */
  readonly approvals?: DeadlinePolicy;
  readonly now?: () => Date;
  /** Called right before a run starts, also a queued one. Returns a reason if it must not start. */
  readonly refuseStart?: RefuseStart;
  /** Records decisions and changes of permissions. */
  readonly audit?: Audit;
  /** Called on a failure that no command was waiting for. */
  readonly onFailure?: (error: PolypodError, podId: string | undefined) => void;
}

/** A pod was loaded, unloaded, or removed with its session. */
export type PodMove = 'in' | 'out' | 'removed';

export interface NewPod {
  readonly cwd: string;
  /** May depend on the session's id. */
  readonly settings?: SettingsChange | ((id: string) => SettingsChange);
  readonly parentId?: string;
  /** The file of the parent session, if that is no pod of this host. */
  readonly parentSession?: string;
  /** Returns the path of the session file; by default in the directory of all sessions. */
  readonly file?: (id: string) => string;
  /** An idempotency key: the same key returns the same pod. */
  readonly key?: string;
  /** Writes nothing before the first command, for clients that may never send one. */
  readonly lazy?: boolean;
}

/** A pod that works for another one. */
export interface SpawnedPod extends Omit<NewPod, 'parentId'> {
  /** The run that the parent waits for. It is cancelled, not continued, after a restart. */
  readonly awaitedRun?: string;
}

export interface Fork {
  /** The last entry to copy, or `root` for none; by default the leaf. */
  readonly entryId?: string;
  readonly name?: string;
  /** As for a new pod. */
  readonly file?: (id: string) => string;
}

/** A changed row. */
export interface Change {
  readonly id: string;
  /** The previous row; undefined for a new pod. */
  readonly before: Row | undefined;
  /** The number of the event that changed it. */
  readonly last: number;
  /** The last event that had been published then. */
  readonly publishedSeq: number;
  /** Why the session's log could not be written, if that caused the change: no event follows. */
  readonly failure?: PolypodError;
}

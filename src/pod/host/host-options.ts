import type { Audit } from '../../audit/index.ts';
import type { PolypodError } from '../../base/index.ts';
import type { Durability, Files } from '../../store/index.ts';
import type { OpenAgent } from '../agent.ts';
import type { DeadlinePolicy } from '../live/approvals.ts';
import type { RefuseStart } from '../live/pod-options.ts';
import type { Row } from '../catalogue/index.ts';
import type { SettingsChange } from '../settings.ts';

export interface HostLimits {
  /** Pods in memory. */
  readonly pods: number;
  /** Runs at the same time. */
  readonly runs: number;
  /** Messages that wait at one pod. */
  readonly queue: number;
  /** Events that wait for one watcher; past it the watcher is cut off and may resume. */
  readonly watcher: number;
}

export const DEFAULT_LIMITS: HostLimits = { pods: 2_000, runs: 200, queue: 100, watcher: 10_000 };

export interface HostOptions {
  /** Where sessions, feeds and the catalogue are kept. */
  readonly directory: string;
  readonly agents: OpenAgent;
  readonly files?: Files;
  /** What an accepted command survives; see `Durability`. */
  readonly durability?: Durability;
  readonly limits?: Partial<HostLimits>;
  readonly hibernateAfterMs?: number;
  /** How long approvals wait; for ever if nothing is said. */
  readonly approvals?: DeadlinePolicy;
  readonly now?: () => Date;
  /** Asked right before a run starts, also one that has waited: a reason, if it must not. */
  readonly refuseStart?: RefuseStart;
  /** Records who decided and who changed what may happen. */
  readonly audit?: Audit;
  /** Something failed that no command was waiting for. */
  readonly onFailure?: (error: PolypodError, podId: string | undefined) => void;
}

/** A pod came into memory, left it, or was removed with its session. */
export type PodMove = 'in' | 'out' | 'removed';

export interface NewPod {
  readonly cwd: string;
  /** May depend on the session's id. */
  readonly settings?: SettingsChange | ((id: string) => SettingsChange);
  readonly parentId?: string;
  /** The file of the session that it comes from, if that is no pod of this host. */
  readonly parentSession?: string;
  /** Where the session file is to be, by the session's id; with the others if nothing is said. */
  readonly file?: (id: string) => string;
  /** The same key gives the same pod. */
  readonly key?: string;
  /** Nothing is written before the first command: for a client that may never say anything. */
  readonly lazy?: boolean;
}

export interface Fork {
  /** The last entry that is taken over, or `root` for none; the leaf if nothing is said. */
  readonly entryId?: string;
  readonly name?: string;
  /** As for a new pod. */
  readonly file?: (id: string) => string;
}

/** A row is another one. */
export interface Change {
  readonly id: string;
  /** As it was; a new pod has none. */
  readonly before: Row | undefined;
  /** The number of the event that changed it. */
  readonly last: number;
  /** The last event that watchers knew of then. */
  readonly told: number;
  /** Why the log of the session could not be written, if that is what has happened: then no event follows. */
  readonly failure?: PolypodError;
}

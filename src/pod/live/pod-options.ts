import type { Audit } from '../../audit/index.ts';
import type { PolypodError } from '../../base/index.ts';
import type { Durability, Files } from '../../store/index.ts';
import type { OpenAgent } from '../agent.ts';
import type { DeadlinePolicy } from './approvals.ts';
import type { Caller, Overrides, ValidCommandOf } from '../command.ts';
import type { Approval, PodFact, Settlement } from '../event.ts';
import type { Header } from '../session/index.ts';
import type { SettingsChange } from '../settings.ts';

/** Why a run with these overrides must not start; undefined if it may. */
export type RefuseStart = (overrides: Overrides | undefined) => string | undefined;

/** What a pod is given by its host. `Self` is the type of the pod, as the callbacks receive it. */
export interface PodOptions<Self> {
  readonly file: string;
  /** For a new session. */
  readonly header?: Header;
  /** What a new session begins with; recorded with its first entry. */
  readonly settings?: SettingsChange | undefined;
  readonly feedDirectory: string;
  readonly files: Files;
  readonly durability: Durability;
  readonly openAgent: OpenAgent;
  readonly queueLimit: number;
  /** How many events may wait for a watcher before it is cut off. */
  readonly watcherLimit: number;
  readonly approvals: DeadlinePolicy;
  readonly now: () => Date;
  readonly callbacks: HostCallbacks<Self>;
}

/** What a pod asks of its host. */
export interface HostCallbacks<Self> {
  /** Takes one of the places for runs; false when there is none. `release` gives it back. */
  readonly takeSlot: () => boolean;
  /** What to tell who got none. */
  readonly whyNoSlot: () => string;
  readonly releaseSlot: () => void;
  readonly audit: Audit;
  /** Why a run must not start; undefined if it may. */
  readonly refuseStart: RefuseStart;
  /** Something has changed that lists show. */
  readonly changed: (pod: Self, by: PodFact['type']) => void;
  /** A question has come up, or has been settled: the parent is told. */
  readonly asked: (pod: Self, approval: Approval) => void;
  readonly settled: (pod: Self, approvalId: string, how: Settlement) => void;
  readonly decideForChild: (
    podId: string,
    command: ValidCommandOf<'decide'>,
    caller: Caller,
  ) => Promise<void>;
  /** The pod can no longer write, or was closed: it is forgotten, and opened again when it is wanted. */
  readonly gone: (pod: Self, error: PolypodError | undefined) => Promise<void>;
}

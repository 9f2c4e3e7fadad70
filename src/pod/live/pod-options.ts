import type { Audit } from '../../audit/index.ts';
import type { PolypodError } from '../../base/index.ts';
import type { Durability, Files } from '../../store/index.ts';
import type { ClientServices, FileWrite } from '../../tools/index.ts';
import type { ChildPod, NewChild, OpenAgent } from '../agent.ts';
import type { DeadlinePolicy } from './approvals.ts';
import type { Caller, Overrides, ValidCommandOf } from '../command.ts';
import type { Approval, PodFact, Settlement } from '../event.ts';
import type { Header } from '../session/index.ts';
import type { ServerValues, SettingsChange } from '../settings.ts';

/** Why a run with these overrides must not start; undefined if it may. */
export type RefuseStart = (overrides: Overrides | undefined) => string | undefined;

/** The dependencies that a host passes to a pod. `Self` is the type of the pod that the callbacks receive. */
export interface PodOptions<Self> {
  readonly file: string;
  /** For a new session. */
  readonly header?: Header;
  /** The initial settings of a new session, recorded with its first entry. */
  readonly settings?: SettingsChange | undefined;
  readonly feedDirectory: string;
  /** For versions of files that the agent has changed. */
  readonly savedFilesDirectory: string;
  readonly files: Files;
  readonly durability: Durability;
  readonly openAgent: OpenAgent;
  readonly queueLimit: number;
  /** The maximum number of queued events per watcher. */
  readonly watcherLimit: number;
  readonly approvals: DeadlinePolicy;
  readonly now: () => Date;
  readonly callbacks: HostCallbacks<Self>;
}

/** The host functions that a pod calls. */
export interface HostCallbacks<Self> {
  /** Takes a run slot; returns false if none is free. `release` returns it. */
  readonly takeSlot: () => boolean;
  /** The error message if no slot is free. */
  readonly whyNoSlot: () => string;
  readonly releaseSlot: () => void;
  readonly audit: Audit;
  readonly spawn: (parentId: string, child: NewChild & { readonly cwd: string }) => Promise<ChildPod>;
  /** Why a run must not start; undefined if it may. */
  readonly refuseStart: RefuseStart;
  /** What a connected client does for the tools of a pod. */
  readonly clientServices: (podId: string) => ClientServices | undefined;
  /** The values of variables and headers of the MCP servers that an editor named; undefined if no editor has given them here. */
  readonly editorServerValues: (podId: string) => ServerValues | undefined;
  /** The pod's row has changed. */
  readonly changed: (pod: Self, by: PodFact['type']) => void;
  /** An approval was requested or settled: the parent is notified. */
  readonly asked: (pod: Self, approval: Approval) => void;
  readonly settled: (pod: Self, approvalId: string, how: Settlement) => void;
  readonly decideForChild: (
    podId: string,
    command: ValidCommandOf<'decide'>,
    caller: Caller,
  ) => Promise<void>;
  /** A call is about to change a file. Resolves when the parent has saved the version that it replaces. */
  readonly fileWrite: (pod: Self, write: FileWrite, callId: string) => Promise<void>;
  /** The pod cannot write any more, or was closed: the host removes it, and the next use opens it again. */
  readonly gone: (pod: Self, error: PolypodError | undefined) => Promise<void>;
}

import type { DeadlineFallback, RememberOption } from './decision.ts';
import type { Content, Item } from '../llm/index.ts';
import type { Rule, TodoItem, ToolOutput } from '../tools/index.ts';
import type { RunEvent, Totals } from '../worker/index.ts';
import type { Overrides, PodCommand } from './command.ts';
import type { Numbered } from './feed/index.ts';
import type { RewindParts } from './rewind-parts.ts';
import type { PodSettings } from './settings.ts';

export type PodState = 'idle' | 'running' | 'waiting' | 'paused';

/** The conversation continues from an earlier entry. Contains the new items and the number of turns that produced them. */
export interface Branch {
  /** The previous leaf. */
  readonly from: string | null;
  readonly items: readonly Item[];
  readonly turn: number;
}

/** A version of a file. Without a hash, the file was too large to be saved. */
export interface RecordedVersion {
  /** SHA-256 of the content. */
  readonly hash?: string;
  readonly mode: number;
}

/** A change of one file. A missing version means that the file did not exist. */
export interface FileChangeRecord {
  /** Absolute, without links. */
  readonly path: string;
  readonly before?: RecordedVersion;
  readonly after?: RecordedVersion;
  /** The directories that were created for the file, outermost first. */
  readonly directories?: readonly string[];
  /** The call that changed the file; absent if a rewind did. */
  readonly callId?: string;
}

/** What a rewind did with a file: `skipped` files were left as they were, for the reason given. */
export interface RewoundFile {
  readonly path: string;
  readonly outcome: 'restored' | 'removed' | 'skipped';
  readonly reason?: string;
}

export interface Rewound extends Partial<Origin> {
  /** The prompt, or the rewind, that was undone. */
  readonly target: string;
  readonly parts: RewindParts;
  /** The leaf before the conversation moved, or `root`; absent if it did not move. */
  readonly from?: string;
  readonly files: readonly RewoundFile[];
}

/** Who performed an action, and through which protocol. */
export interface Origin {
  readonly by: string;
  readonly door: string;
}

/** All events of a pod: those of its runs and those of its clients. */
export type PodFact = PodRunEvent<RunEvent> | PodOwnEvent;

export type PodFactOf<T extends PodFact['type']> = Extract<PodFact, { readonly type: T }>;

/** The worker's events, with additional data from the pod. */
type PodRunEvent<E extends RunEvent> = E extends { readonly type: 'run-start' }
  ? E & RunPurpose
  : E extends { readonly type: 'input' }
    ? E & Partial<Origin> & { readonly queueId?: string; readonly customType?: string }
    : E extends { readonly type: 'run-end' }
      ? E & { readonly conversation?: Totals }
      : E;

export interface RunPurpose extends Partial<Origin> {
  readonly taskId?: string;
  readonly overrides?: Overrides;
}

export type PodOwnEvent =
  | { readonly type: 'state'; readonly state: PodState }
  /** A message was queued. An `input` with this id, or `unqueued`, removes it from the queue. */
  | ({ readonly type: 'queued' } & Queued)
  | { readonly type: 'unqueued'; readonly queueIds: readonly string[]; readonly reason?: string }
  | { readonly type: 'approval-request'; readonly approval: Approval }
  | ({ readonly type: 'approval-response'; readonly approvalId: string } & Settlement)
  | {
      readonly type: 'settings';
      readonly settings: PodSettings;
      readonly by?: string;
      readonly door?: string;
    }
  | { readonly type: 'todos'; readonly items: readonly TodoItem[] }
  /** A model has written a title of the session. `totals` are those of the conversation, with this request. */
  | { readonly type: 'title'; readonly title: string; readonly totals: Totals }
  | ({ readonly type: 'branched' } & Branch)
  /** A file is about to change. Its previous version is saved. */
  | ({ readonly type: 'file-change' } & FileChangeRecord)
  /** Files or the conversation, or both, were returned to an earlier point. `branched` contains the conversation. */
  | ({ readonly type: 'rewound' } & Rewound)
  | ({
      readonly type: 'shell-start';
      readonly shellId: string;
      readonly command: string;
    } & Partial<Origin> & {
        readonly private: boolean;
      })
  | { readonly type: 'shell-update'; readonly shellId: string; readonly text: string }
  | {
      readonly type: 'shell-end';
      readonly shellId: string;
      readonly command: string;
      readonly status: 'done' | 'cancelled' | 'interrupted';
      readonly output: ToolOutput;
      readonly private: boolean;
    }
  /** The call that starts a background command has its own events. */
  | ({ readonly type: 'background-start' } & BackgroundCommandStart)
  | ({
      readonly type: 'background-end';
      readonly id: string;
      readonly command: string;
    } & BackgroundCommandEnd)
  /** Asks the client that registered this tool to run it and to send `tool-result`. */
  | {
      readonly type: 'client-call';
      readonly callId: string;
      readonly name: string;
      readonly arguments: string;
    }
  | { readonly type: 'client-cancel'; readonly callId: string }
  /** The session was reopened after its process ended unexpectedly. Numbers in between may be lost. */
  | { readonly type: 'recovered'; readonly lost: { readonly from: number; readonly to: number } }
  /** A command that has no event of its own was accepted. */
  | ({ readonly type: 'commanded'; readonly command: PodCommand['type'] } & Origin)
  | { readonly type: 'closed'; readonly by?: string; readonly door?: string };

/** A numbered event, with the entry of the session file that records it, if any. */
export type PodEvent = Numbered<PodFact & { readonly entryId?: string }>;

export type PodEventOf<T extends PodEvent['type']> = Extract<PodEvent, { readonly type: T }>;

export type Lane = 'prompt' | 'steer' | 'follow-up';

/** A queued message. */
export interface Queued extends Partial<Origin> {
  readonly queueId: string;
  readonly lane: Lane;
  readonly content: readonly Content[];
  readonly taskId?: string;
  readonly overrides?: Overrides;
}

/** An approval request for one call. It survives a restart. */
export interface Approval {
  readonly approvalId: string;
  readonly requestedAt: string;
  /** Absent for a request of a client. */
  readonly runId?: string;
  readonly callId?: string;
  /** The pod that makes the call, if it is a child. */
  readonly podId?: string;
  /** What that pod was asked to do. */
  readonly podName?: string;
  readonly tool: string;
  /** JSON text. */
  readonly arguments: string;
  readonly title: string;
  readonly reason: string;
  /** The rule that "always" would create. */
  readonly rule?: Rule;
  readonly deadline?: string;
  /** What happens at the deadline. */
  readonly fallback?: DeadlineFallback;
}

/** A background command of the agent. */
export interface BackgroundCommandStart {
  readonly id: string;
  /** In one line, for display. */
  readonly command: string;
  /** The call that started it. */
  readonly callId: string;
  readonly startedAt: string;
}

/** Marks the message that informs the model about the end of background commands. */
export const BACKGROUND_NOTICE = 'background-notice';

/** `ended`: Polypod ended it. `interrupted`: the process that hosted it was killed. */
export interface BackgroundCommandEnd {
  readonly status: 'done' | 'failed' | 'ended' | 'interrupted';
  /** In a few words. */
  readonly message: string;
}

export type ApprovalStatus = 'pending' | 'approved' | 'denied' | 'expired' | 'cancelled';

/** How an approval was settled; the first decision wins. */
export interface Settlement extends Partial<Origin> {
  readonly status: Exclude<ApprovalStatus, 'pending'>;
  readonly at: string;
  readonly comment?: string;
  readonly updatedArguments?: string;
  readonly remember?: RememberOption;
}

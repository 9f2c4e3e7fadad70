import type { DeadlineFallback, RememberOption } from './decision.ts';
import type { Content, Item } from '../llm/index.ts';
import type { Rule, TodoItem, ToolOutput } from '../tools/index.ts';
import type { RunEvent, Totals } from '../worker/index.ts';
import type { Overrides, PodCommand } from './command.ts';
import type { Numbered } from './feed/index.ts';
import type { PodSettings } from './settings.ts';

export type PodState = 'idle' | 'running' | 'waiting' | 'paused';

/** The conversation goes on from an earlier place; these are its items now, and so many turns made them. */
export interface Branch {
  /** Where it stood before. */
  readonly from: string | null;
  readonly items: readonly Item[];
  readonly turn: number;
}

/** Who did something, and through which protocol. */
export interface Origin {
  readonly by: string;
  readonly door: string;
}

/** All that can be told about a pod: what its runs do, and what people do to it. */
export type PodFact = Told<RunEvent> | PodOwnEvent;

export type PodFactOf<T extends PodFact['type']> = Extract<PodFact, { readonly type: T }>;

/** The worker's events, with what only the pod knows of them. */
type Told<E extends RunEvent> = E extends { readonly type: 'run-start' }
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
  /** A message waits for its turn; an `input` with this id, or `unqueued`, ends that. */
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
  | ({ readonly type: 'branched' } & Branch)
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
  /** A client that has registered this tool shall run it, and answer with `tool-result`. */
  | {
      readonly type: 'client-call';
      readonly callId: string;
      readonly name: string;
      readonly arguments: string;
    }
  | { readonly type: 'client-cancel'; readonly callId: string }
  /** The session was opened again after its process ended without a word. Numbers in between may be lost. */
  | { readonly type: 'recovered'; readonly lost: { readonly from: number; readonly to: number } }
  /** A command that has no event of its own was accepted. */
  | ({ readonly type: 'commanded'; readonly command: PodCommand['type'] } & Origin)
  | { readonly type: 'closed'; readonly by?: string; readonly door?: string };

/** Numbered, and with the entry of the session file that keeps it, if one does. */
export type PodEvent = Numbered<PodFact & { readonly entryId?: string }>;

export type PodEventOf<T extends PodEvent['type']> = Extract<PodEvent, { readonly type: T }>;

export type Lane = 'prompt' | 'steer' | 'follow-up';

/** A message that waits. */
export interface Queued extends Partial<Origin> {
  readonly queueId: string;
  readonly lane: Lane;
  readonly content: readonly Content[];
  readonly taskId?: string;
  readonly overrides?: Overrides;
}

/** A durable question about one call. */
export interface Approval {
  readonly approvalId: string;
  readonly requestedAt: string;
  /** Absent for one that a client asks. */
  readonly runId?: string;
  readonly callId?: string;
  /** The pod whose call it is, if it is a child's. */
  readonly podId?: string;
  readonly tool: string;
  /** JSON text. */
  readonly arguments: string;
  readonly title: string;
  readonly reason: string;
  /** The rule that "always" would make. */
  readonly rule?: Rule;
  readonly deadline?: string;
  /** What happens at the deadline. */
  readonly fallback?: DeadlineFallback;
}

export type ApprovalStatus = 'pending' | 'approved' | 'denied' | 'expired' | 'cancelled';

/** How a question ended; the first answer counts. */
export interface Settlement extends Partial<Origin> {
  readonly status: Exclude<ApprovalStatus, 'pending'>;
  readonly at: string;
  readonly comment?: string;
  readonly updatedArguments?: string;
  readonly remember?: RememberOption;
}

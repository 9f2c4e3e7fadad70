import type { InvalidCall, PreparedCall, ToolContext } from '../tools/index.ts';
import type { CallLine } from './event.ts';
import type { HookVerdict } from './hooks.ts';

/**
 * Asks whether a call may run. Given by whoever owns the policy and the people to ask; the worker knows neither. For a call
 * that a person has to decide it returns a `PendingApproval`, so that the questions of a turn can be raised in call order.
 */
export type Approve = (question: Question, signal: AbortSignal) => Promise<Approval | PendingApproval>;

/** A question that has not been raised. `ask` raises it before it returns; the worker calls it in call order. */
export interface PendingApproval {
  readonly ask: () => Promise<Approval>;
}

export interface Question {
  readonly call: CallLine;
  readonly prepared: PreparedCall;
  /** The same call with other arguments, JSON text. */
  readonly prepare: (args: string) => PreparedCall | InvalidCall;
  /** What hooks said; it may make the answer stricter, or spare a person the question, never overrule a denial. */
  readonly advice: HookVerdict | undefined;
}

export type Approval =
  | {
      readonly decision: 'allow';
      /** For the paths of this call, judged again at the moment of use. */
      readonly resolve: ToolContext['resolve'];
      /** Set when nobody approved the programs of this call. */
      readonly prepareReadOnly?: ToolContext['prepareReadOnly'];
      /** The arguments as a person changed them, JSON text, already judged. */
      readonly arguments?: string;
      /** Whether a person, or a rule for this very call, has allowed it: it was not merely harmless. */
      readonly approved?: boolean;
    }
  /** The reason becomes the result that the model reads. */
  | { readonly decision: 'deny'; readonly reason: string }
  | { readonly decision: 'pause' };

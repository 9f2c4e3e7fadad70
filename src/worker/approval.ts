import type { InvalidCall, PreparedCall, ToolContext } from '../tools/index.ts';
import type { CallLine } from './event.ts';
import type { HookVerdict } from './hooks.ts';

/**
 * Decides whether a call may run. Provided by the owner of the policy; the worker knows neither the policy nor the users.
 * For a call that a person must decide, it returns a `PendingApproval`, so that the worker can ask in call order.
 */
export type Approve = (
  question: ApprovalRequest,
  signal: AbortSignal,
) => Promise<ApprovalResult | PendingApproval>;

/** An approval that has not been requested yet. `ask` requests it before it returns; the worker calls it in call order. */
export interface PendingApproval {
  readonly ask: () => Promise<ApprovalResult>;
}

export interface ApprovalRequest {
  readonly call: CallLine;
  /** The tool whose rules apply; by default the call's. A call of another agent may have the effect of one of our tools. */
  readonly tool?: string;
  readonly prepared: PreparedCall;
  /** Prepares the same call with other arguments (JSON text). */
  readonly prepare: (args: string) => PreparedCall | InvalidCall;
  /** The verdict of the hooks. It can make the decision stricter or approve the call, but never override a denial. */
  readonly advice: HookVerdict | undefined;
}

export type ApprovalResult =
  | {
      readonly decision: 'allow';
      /** For the paths of this call, judged again at the moment of use. */
      readonly resolve: ToolContext['resolve'];
      /** Set when nobody approved the programs of this call. */
      readonly prepareReadOnly?: ToolContext['prepareReadOnly'];
      /** The arguments as a person changed them, JSON text, already judged. */
      readonly arguments?: string;
      /** Whether a person or a rule for this call allowed it, as opposed to a call that needs no approval. */
      readonly approved?: boolean;
    }
  /** The reason is the result that the model receives. */
  | { readonly decision: 'deny'; readonly reason: string }
  | { readonly decision: 'pause' };

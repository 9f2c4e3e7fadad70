import { onAbort, withoutUndefined } from '../base/index.ts';
import type { PreparedCall, ToolContext } from '../tools/index.ts';
import type { ApprovalResult, Approve, HookVerdict } from '../worker/index.ts';
import type { AgentCall } from './agent-event.ts';

export interface PermissionParts {
  readonly approve: Approve;
  /** The call with other arguments; undefined if the agent does not accept them. */
  readonly changed: (args: string) => AgentCall | undefined;
  /** Why the agent does not accept other arguments. */
  readonly refusal: string;
  /** A decision that was made before, which cannot override a denial. */
  readonly advice?: HookVerdict | undefined;
}

export type PermissionDecision =
  | {
      readonly decision: 'allow';
      readonly arguments?: string;
      /** Resolves the paths of the call, as for our own tools. */
      readonly resolve: ToolContext['resolve'];
    }
  | { readonly decision: 'deny'; readonly reason: string }
  | { readonly decision: 'pause' };

/** Decides whether another agent may make a call: by the policy, or by a person. If the signal aborts first, the call is denied. */
export async function permissionAnswer(
  call: AgentCall,
  { approve, changed, refusal, advice }: PermissionParts,
  signal: AbortSignal,
): Promise<PermissionDecision> {
  const { callId, name, arguments: args, title, tool } = call;
  const decide = async (): Promise<ApprovalResult> => {
    const answer = await approve(
      {
        call: { callId, name, arguments: args, title },
        ...withoutUndefined({ tool }),
        prepared: preparedCall(call),
        prepare: (other) => {
          const next = changed(other);
          return next === undefined ? { invalid: refusal } : preparedCall(next);
        },
        advice,
      },
      signal,
    );
    return 'ask' in answer ? answer.ask() : answer;
  };
  const result = await beforeAbort(decide(), signal);
  if (result === undefined) return { decision: 'deny', reason: 'The run was cancelled.' };
  if (result.decision !== 'allow') return result;
  const { resolve, arguments: changedArgs } = result;
  return { decision: 'allow', resolve, ...withoutUndefined({ arguments: changedArgs }) };
}

/** A call that the agent runs itself. */
function preparedCall({ access, title }: AgentCall): PreparedCall {
  return {
    access,
    title,
    run: () => Promise.reject(new Error('another agent runs this call')),
  };
}

async function beforeAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  let removeListener = (): void => {};
  const aborted = new Promise<undefined>((resolve) => {
    removeListener = onAbort(signal, () => resolve(undefined));
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    removeListener();
  }
}

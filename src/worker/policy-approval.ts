import {
  type ExaminedCall,
  examine,
  type FileFacts,
  guardFor,
  type InvalidCall,
  isApprovedByRules,
  judge,
  prepareReadOnlyRun,
  type Policy,
  type PreparedCall,
  type Rule,
  ruleFor,
  type ToolContext,
  type Verdict,
} from '../tools/index.ts';
import type { ApprovalResult, Approve, ApprovalRequest } from './approval.ts';
import type { CallLine } from './event.ts';
import type { HookVerdict } from './hooks.ts';

/** A request for permission, to be answered by a person or an automatic approver. */
export interface PermissionQuestion {
  readonly call: CallLine;
  readonly reason: string;
  /** The rule that "always" would create; undefined if the answer can only apply once. */
  readonly rule: Rule | undefined;
  /** Checks changed arguments against the policy: a person may change a call, but not into a forbidden one. */
  readonly judgeChangedCall: (args: string) => Promise<ChangedCallVerdict>;
}

export type ChangedCallVerdict =
  | {
      readonly resolve: ToolContext['resolve'];
      /** The rule that "always" makes for the changed call. */
      readonly rule: Rule | undefined;
    }
  | { readonly refused: string };

export type PermissionAnswer =
  | { readonly decision: 'allow'; readonly arguments?: string }
  | { readonly decision: 'deny'; readonly reason: string }
  | { readonly decision: 'pause' };

export interface PolicyApproval {
  /** Called for every request, because modes and rules can change during a run. */
  readonly policy: () => Policy;
  readonly fileFacts: FileFacts;
  readonly ask: (question: PermissionQuestion, signal: AbortSignal) => Promise<PermissionAnswer>;
}

/** Creates an `Approve` that lets the policy decide, and asks only if the policy says so. */
export function approveByPolicy({ policy, fileFacts, ask }: PolicyApproval): Approve {
  const judgeChanged = (request: ApprovalRequest, args: string): Promise<ChangedCallVerdict> =>
    judgeChangedCall({ policy, fileFacts }, request.tool ?? request.call.name, request.prepare(args));
  return async (question, signal) => {
    const { call, tool = call.name, prepared, advice } = question;
    const judged = await examinedCall(tool, prepared, fileFacts);
    const rules = policy();
    const { decision, reason, onlyReads } = applyHookVerdict(judge(judged, rules), advice);
    if (decision === 'deny') return { decision, reason };
    const resolve = guardFor(judged, rules, fileFacts.realPath);
    if (decision === 'allow')
      return {
        decision,
        resolve,
        approved: isApprovedByRules(judged, rules),
        ...(onlyReads === true && { prepareReadOnly: prepareReadOnlyRun(judged, policy, fileFacts) }),
      };
    const askUser = async (): Promise<ApprovalResult> => {
      const answer = await ask(
        {
          call,
          reason,
          rule: ruleFor(judged, rules),
          judgeChangedCall: (args) => judgeChanged(question, args),
        },
        signal,
      );
      if (answer.decision !== 'allow') return answer;
      if (answer.arguments === undefined) return { ...answer, resolve, approved: true };
      const changed = await judgeChanged(question, answer.arguments);
      if ('refused' in changed) return { decision: 'deny', reason: changed.refused };
      return { ...answer, resolve: changed.resolve, approved: true };
    };
    return { ask: askUser };
  };
}

/** Checks a call that a person has changed against the policy: it may do what needs approval, but not what is denied. */
export async function judgeChangedCall(
  { policy, fileFacts }: Pick<PolicyApproval, 'policy' | 'fileFacts'>,
  tool: string,
  changed: Pick<PreparedCall, 'access'> | InvalidCall,
): Promise<ChangedCallVerdict> {
  if ('invalid' in changed) return { refused: changed.invalid };
  const judged = await examinedCall(tool, changed, fileFacts);
  const rules = policy();
  const { decision, reason } = judge(judged, rules);
  if (decision === 'deny') return { refused: reason };
  return { resolve: guardFor(judged, rules, fileFacts.realPath), rule: ruleFor(judged, rules) };
}

async function examinedCall(
  tool: string,
  { access }: Pick<PreparedCall, 'access'>,
  fileFacts: FileFacts,
): Promise<ExaminedCall> {
  return { tool, access: await examine(access, fileFacts) };
}

/** A hook can turn "allow" into "ask" and "ask" into "allow", but cannot override a denial. */
function applyHookVerdict(
  verdict: Verdict,
  advice: HookVerdict | undefined,
): Pick<Verdict, 'decision' | 'reason' | 'onlyReads'> {
  if (advice?.decision === 'ask' && verdict.decision === 'allow')
    return { decision: 'ask', reason: advice.reason };
  if (advice?.decision === 'allow' && verdict.decision === 'ask')
    return { decision: 'allow', reason: advice.reason };
  return verdict;
}

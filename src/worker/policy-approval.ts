import {
  type Call,
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
import type { Approval, Approve, Question } from './approval.ts';
import type { CallLine } from './event.ts';
import type { HookVerdict } from './hooks.ts';

/** What a person, or whoever stands in for one, is asked. */
export interface PermissionQuestion {
  readonly call: CallLine;
  readonly reason: string;
  /** The rule that "always" would make; undefined when the answer can only be for once. */
  readonly rule: Rule | undefined;
  /** What the policy says of other arguments: a person may change a call, and not into one that is forbidden. */
  readonly reconsider: (args: string) => Promise<Reconsidered>;
}

export type Reconsidered =
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
  /** As it is when the question comes up: modes and rules change while a run goes on. */
  readonly policy: () => Policy;
  readonly fileFacts: FileFacts;
  readonly ask: (question: PermissionQuestion, signal: AbortSignal) => Promise<PermissionAnswer>;
}

/** Lets the policy decide, and asks only about what it leaves open. */
export function approveByPolicy({ policy, fileFacts, ask }: PolicyApproval): Approve {
  const again = ({ call, prepare }: Question, args: string): Promise<Reconsidered> =>
    reconsider({ policy, fileFacts }, call.name, prepare(args));
  return async (question, signal) => {
    const { call, prepared, advice } = question;
    const judged = await callOf(call.name, prepared, fileFacts);
    const rules = policy();
    const { decision, reason, onlyReads } = advised(judge(judged, rules), advice);
    if (decision === 'deny') return { decision, reason };
    const resolve = guardFor(judged, rules, fileFacts.realPath);
    if (decision === 'allow')
      return {
        decision,
        resolve,
        approved: isApprovedByRules(judged, rules),
        ...(onlyReads === true && { prepareReadOnly: prepareReadOnlyRun(judged, policy, fileFacts) }),
      };
    const raise = async (): Promise<Approval> => {
      const answer = await ask(
        { call, reason, rule: ruleFor(judged, rules), reconsider: (args) => again(question, args) },
        signal,
      );
      if (answer.decision !== 'allow') return answer;
      if (answer.arguments === undefined) return { ...answer, resolve, approved: true };
      const changed = await again(question, answer.arguments);
      if ('refused' in changed) return { decision: 'deny', reason: changed.refused };
      return { ...answer, resolve: changed.resolve, approved: true };
    };
    return { ask: raise };
  };
}

/** What the policy says of a call that a person has changed: it may do what needs a question, not what is forbidden. */
export async function reconsider(
  { policy, fileFacts }: Pick<PolicyApproval, 'policy' | 'fileFacts'>,
  tool: string,
  changed: PreparedCall | InvalidCall,
): Promise<Reconsidered> {
  if ('invalid' in changed) return { refused: changed.invalid };
  const judged = await callOf(tool, changed, fileFacts);
  const rules = policy();
  const { decision, reason } = judge(judged, rules);
  if (decision === 'deny') return { refused: reason };
  return { resolve: guardFor(judged, rules, fileFacts.realPath), rule: ruleFor(judged, rules) };
}

async function callOf(tool: string, { access }: PreparedCall, fileFacts: FileFacts): Promise<Call> {
  return { tool, access: await examine(access, fileFacts) };
}

/** A hook may ask where the policy would not, and spare a question; a denial stands. */
function advised(
  verdict: Verdict,
  advice: HookVerdict | undefined,
): Pick<Verdict, 'decision' | 'reason' | 'onlyReads'> {
  if (advice?.decision === 'ask' && verdict.decision === 'allow')
    return { decision: 'ask', reason: advice.reason };
  if (advice?.decision === 'allow' && verdict.decision === 'ask')
    return { decision: 'allow', reason: advice.reason };
  return verdict;
}

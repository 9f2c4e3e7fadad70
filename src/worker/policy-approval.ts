import {
  type Call,
  examine,
  type Ground,
  guardFor,
  judge,
  type Policy,
  type Rule,
  ruleFor,
  type Verdict,
} from '../tools/index.ts';
import type { Approve } from './approval.ts';
import type { CallLine } from './event.ts';
import type { HookVerdict } from './hooks.ts';

/** What a person, or whoever stands in for one, is asked. */
export interface PermissionQuestion {
  readonly call: CallLine;
  readonly reason: string;
  /** The rule that "always" would make; undefined when the answer can only be for once. */
  readonly rule: Rule | undefined;
}

export type PermissionAnswer =
  | { readonly decision: 'allow'; readonly arguments?: string }
  | { readonly decision: 'deny'; readonly reason: string }
  | { readonly decision: 'pause' };

export interface PolicyApproval {
  /** As it is when the question comes up: modes and rules change while a run goes on. */
  readonly policy: () => Policy;
  readonly ground: Ground;
  readonly ask: (question: PermissionQuestion, signal: AbortSignal) => Promise<PermissionAnswer>;
}

/** Lets the policy decide, and asks only about what it leaves open. */
export function approveByPolicy({ policy, ground, ask }: PolicyApproval): Approve {
  return async ({ call, prepared, advice }, signal) => {
    const judged: Call = { tool: call.name, access: await examine(prepared.access, ground) };
    const rules = policy();
    const { decision, reason } = advised(judge(judged, rules), advice);
    if (decision === 'deny') return { decision, reason };
    const resolve = guardFor(judged, rules, ground.realPath);
    if (decision === 'allow') return { decision, resolve };
    const answer = await ask({ call, reason, rule: ruleFor(judged, rules) }, signal);
    return answer.decision === 'allow' ? { ...answer, resolve } : answer;
  };
}

/** A hook may ask where the policy would not, and spare a question; a denial stands. */
function advised(verdict: Verdict, advice: HookVerdict | undefined): Pick<Verdict, 'decision' | 'reason'> {
  if (advice?.decision === 'ask' && verdict.decision === 'allow')
    return { decision: 'ask', reason: advice.reason };
  if (advice?.decision === 'allow' && verdict.decision === 'ask')
    return { decision: 'allow', reason: advice.reason };
  return verdict;
}

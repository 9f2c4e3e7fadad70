import { findings } from './judge.ts';
import type { Call } from './judged.ts';
import type { Policy } from './policy.ts';

/** Whether rules that name commands allow every program of a call: its user has approved this very command before. */
export function isApprovedByRules(call: Call, policy: Policy): boolean {
  const programs = findings(call, policy).filter(
    ({ about }) => about.type === 'program' || about.type === 'text',
  );
  return (
    programs.length > 0 &&
    programs.every(({ verdict: { rule } }) => rule?.action === 'auto' && rule.command !== undefined)
  );
}

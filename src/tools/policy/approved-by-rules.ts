import { findings } from './judge.ts';
import type { ExaminedCall } from './judged-access.ts';
import type { Policy } from './policy.ts';

/**
 * Returns whether command rules allow every program of a call, so that the user has approved this command
 * before.
 */
export function isApprovedByRules(call: ExaminedCall, policy: Policy): boolean {
  const programs = findings(call, policy).filter(
    ({ about }) => about.type === 'program' || about.type === 'text',
  );
  return (
    programs.length > 0 &&
    programs.every(({ verdict: { rule } }) => rule?.action === 'auto' && rule.command !== undefined)
  );
}

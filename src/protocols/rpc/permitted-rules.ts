import type { Rule } from '../../pod/index.ts';

/** Hosts expect that tools work in the directory without a question; what the user has forbidden stays forbidden. */
export const UNASKED: readonly Rule[] = [
  { tool: 'bash', action: 'auto' },
  { tool: 'mcp__*', action: 'auto' },
];

/** Fits no tool. What stands behind it was put there by this mode, and is replaced by the next link. */
const MARK: Rule = { tool: 'rpc mode', action: 'ask' };

/**
 * The rules of a pod that a client of this mode works with. A pod's rules are looked at before the user's, so the user's
 * are put before what this mode allows.
 */
export function permittedRules(
  rules: readonly Rule[],
  configured: readonly Rule[],
  isAsking: boolean,
): readonly Rule[] {
  const at = rules.findIndex(({ tool }) => tool === MARK.tool);
  const own = at < 0 ? rules : rules.slice(0, at);
  return isAsking ? own : [...own, MARK, ...configured, ...UNASKED];
}

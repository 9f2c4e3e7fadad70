import type { Rule } from '../../../pod/index.ts';

/** Hosts expect that tools work in the directory without a question; what the user has forbidden stays forbidden. */
export const DEFAULT_RULES: readonly Rule[] = [
  { tool: 'bash', action: 'auto' },
  { tool: 'mcp__*', action: 'auto' },
];

import type { Rule } from '../../../pod/index.ts';

/** Hosts expect tools to work in the directory without approval. What the user has denied stays denied. */
export const DEFAULT_RULES: readonly Rule[] = [
  { tool: 'bash', action: 'auto' },
  { tool: 'mcp__*', action: 'auto' },
];

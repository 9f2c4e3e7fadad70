/** What an agent works with: its models, tools, servers, rules and limits. */
export type { AgentsOptions } from './agents.ts';
export type { ConfiguredAgentsOptions } from './configured-agents.ts';
export type { SavedRule } from './saved-rules.ts';

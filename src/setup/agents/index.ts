/** The models, tools, MCP servers, rules and limits of agents. */
export type { AgentsOptions } from './agents.ts';
export type { ConfiguredAgentsOptions } from './configured-agents.ts';
export type { SavedRule } from './saved-rules.ts';

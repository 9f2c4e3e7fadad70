/** Tools of MCP servers, under the same policy as our own. */
export type { Clock } from './clock.ts';
export { Tail } from './connection/tail.ts';
export { MCP_SERVERS, readMcpConfig } from './config.ts';
export { decideRestart, DEFAULT_RESTART, type RestartPolicy } from './restart.ts';
export type { McpServerStatus, McpTuning } from './server.ts';
export { DEFAULT_TUNING, McpServers, type McpHostContext } from './servers.ts';
export type { HttpSpec, McpServerSpec, StdioSpec } from './spec.ts';

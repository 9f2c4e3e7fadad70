/** An MCP server as the user configured it. */
export type McpServerSpec = StdioSpec | HttpSpec;

/** A program that is started and communicates over its standard streams. */
export interface StdioSpec {
  readonly transport: 'stdio';
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Set in addition to the inherited environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Variables that are inherited although they may hold secrets. */
  readonly passEnv: readonly string[];
  /** Working directory, relative to that of the agent, which is the default. */
  readonly cwd?: string;
  /** How long a call may run without progress. */
  readonly callTimeoutMs?: number;
}

/** A server that is reached by URL. */
export interface HttpSpec {
  readonly transport: 'http';
  readonly name: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly callTimeoutMs?: number;
}

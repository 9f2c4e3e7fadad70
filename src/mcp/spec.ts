/** An MCP server as the user configured it. */
export type McpServerSpec = StdioSpec | HttpSpec;

/** A program that is started and spoken to over its standard streams. */
export interface StdioSpec {
  readonly transport: 'stdio';
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Set for the program besides what it inherits. */
  readonly env: Readonly<Record<string, string>>;
  /** Variables of the user's environment that it gets although they may hold secrets. */
  readonly passEnv: readonly string[];
  /** Where it runs; relative to the working directory of the agent, which is also the default. */
  readonly cwd?: string;
  /** How long a call may go on without a sign of progress. */
  readonly callTimeoutMs?: number;
}

/** A server that runs elsewhere. */
export interface HttpSpec {
  readonly transport: 'http';
  readonly name: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly callTimeoutMs?: number;
}

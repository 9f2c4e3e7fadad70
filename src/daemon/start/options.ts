import type { LogLevel, LogSink } from '../../base/index.ts';
import type { Environment } from '../../llm/index.ts';
import type { KnownDoor } from '../../registry.ts';
import type { DataPaths } from '../../setup/paths/index.ts';
import type { AgentOrder } from '../tasks/read-agent-config.ts';

export interface DaemonOptions {
  readonly env: Environment;
  readonly dataPaths: DataPaths;
  readonly version: string;
  readonly doors: readonly KnownDoor[];
  /** Opens all doors, whatever is configured, and does not start without them. */
  readonly needsDoors?: boolean;
  /** An agent over HTTP that it also serves. */
  readonly agent?: AgentOrder;
  /** Only the simulated model. */
  readonly offline?: boolean;
  /** Whether the commands of all agents run in a sandbox, whatever is configured. */
  readonly sandbox?: boolean;
  /** Takes precedence over the environment and the configuration. */
  readonly logLevel?: LogLevel | undefined;
  /** Where the log goes besides its file. */
  readonly logSinks?: readonly LogSink[];
}

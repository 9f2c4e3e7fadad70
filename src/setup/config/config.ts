import type { AuditLimits } from '../../audit/index.ts';
import type { LogLevel } from '../../base/index.ts';
import type { ConfiguredAccount } from '../../llm/index.ts';
import type { McpServerSpec } from '../../mcp/index.ts';
import type { DeadlinePolicy, HostLimits } from '../../pod/index.ts';
import type { StreamRule } from '../../reminders/index.ts';
import type { Durability } from '../../store/index.ts';
import type { PermissionMode, Rule } from '../../tools/index.ts';
import type { StatedLimits } from './config-shape.ts';
import type { StatedTasks } from './tasks-shape.ts';

/** What the user configured. A setting that is absent has its default. */
export interface Config {
  /** The model to use when nobody names one: `account/id`. */
  readonly model?: string;
  readonly accounts: readonly ConfiguredAccount[];
  readonly permissions: Permissions;
  readonly sandbox: SandboxSettings;
  readonly mcpServers: readonly McpServerSpec[];
  /** What the model must not write: an answer that does is cut, and begun again. */
  readonly streamRules: readonly StatedStreamRule[];
  readonly daemon: DaemonSettings;
  readonly log: { readonly level?: LogLevel };
}

/** How agents are hosted; most of it holds for the daemon's whole life. */
export interface DaemonSettings {
  /** Which are open; a door that is not named is, if it is open by default. */
  readonly doors: Readonly<Partial<Record<string, boolean>>>;
  /** The agent that is reached over HTTP. */
  readonly tasks?: StatedTasks;
  readonly limits: Partial<HostLimits>;
  /** What a command of an agent may use, as far as the user has said; infinite for no limit. */
  readonly commandLimits?: StatedLimits;
  readonly hibernateAfterMs?: number;
  readonly durability?: Durability;
  readonly approvals: DeadlinePolicy;
  /** Whether processes of agents' commands may connect to our sockets. */
  readonly allowAgentPeers?: boolean;
  /** How long runs may go on when the daemon is to stop. */
  readonly shutdownGraceMs: number;
  /** How long the audit log is kept, as far as the user has said. */
  readonly audit?: Partial<AuditLimits>;
}

/** A stream rule as the configuration file states it. */
export type StatedStreamRule = Omit<StreamRule, 'path'>;

/** What an agent may do, as far as the user has said; the command line says more. */
export interface Permissions {
  readonly mode?: PermissionMode;
  readonly rules: readonly Rule[];
  readonly allowPaths: readonly string[];
  /** Variables that commands get although they may hold secrets. */
  readonly passEnv: readonly string[];
  /** Whether commands outside of the sandbox get a process namespace of their own, where that works; they do unless it is false. */
  readonly isolateCommands?: boolean;
}

/** How commands are sandboxed. Paths are absolute, or begin with `~/`. */
export interface SandboxSettings {
  /** Whether every agent runs its commands in the sandbox, as with --sandbox. */
  readonly enabled?: boolean;
  /** What commands may read beside the workspace, the system and the programs on the PATH. */
  readonly read?: readonly string[];
  /** What commands must not see, even in the workspace. */
  readonly hide?: readonly string[];
  /** Files of the workspace that commands may see although by their names they hold secrets. */
  readonly show?: readonly string[];
  /** How much memory the files in /tmp and the home directory may take each. */
  readonly tmpBytes?: number;
}

/** The configuration, and what the user should hear about it. */
export interface LoadedConfig {
  readonly config: Config;
  readonly warnings: readonly string[];
}

import type { AuditLimits } from '../../audit/index.ts';
import type { LogLevel } from '../../base/index.ts';
import type { ConfiguredAccount, ValueSource } from '../../llm/index.ts';
import type { McpServerSpec } from '../../mcp/index.ts';
import type { DeadlinePolicy, HostLimits } from '../../pod/index.ts';
import type { StreamRule } from '../../reminders/index.ts';
import type { Durability } from '../../store/index.ts';
import type { PermissionMode, Rule, SearchProviderName } from '../../tools/index.ts';
import type { RawBackgroundLimits, RawConfig, RawLimits } from './config-shape.ts';
import type { RawTasks } from './tasks-shape.ts';

/** The user's configuration. Absent settings have their default. */
export interface Config {
  /** The default model: `account/id`. */
  readonly model?: string;
  /** The back end of new sessions; by default our own worker. */
  readonly backend?: string;
  /** Other agents, by name. */
  readonly backends: ReadonlyMap<string, BackendSettings>;
  readonly accounts: readonly ConfiguredAccount[];
  readonly permissions: Permissions;
  readonly sandbox: SandboxSettings;
  /** The provider of the tool `web_search`; without it, agents do not have the tool. */
  readonly webSearch?: WebSearchSettings;
  readonly mcpServers: readonly McpServerSpec[];
  /** Modules of the user that are loaded for every session, as absolute paths. */
  readonly extensions: readonly string[];
  /** Text that the model must not write: an answer that matches is cancelled and restarted. */
  readonly streamRules: readonly RawStreamRule[];
  readonly daemon: DaemonSettings;
  readonly log: { readonly level?: LogLevel };
  readonly titles: TitleSettings;
  readonly notify: NotifySettings;
}

/** How another agent is started. */
export interface BackendSettings {
  /** The program and its arguments; by default those of the known agent of this name. */
  readonly command?: readonly [string, ...string[]];
  /** Variables that are set for it. */
  readonly env?: Readonly<Record<string, string>>;
  /** Variables that it receives although they may hold secrets. */
  readonly passEnv?: readonly string[];
  /** Whether the project's own configuration of this agent applies: its hooks, servers, permissions and endpoints. */
  readonly trustProject?: boolean;
  /** Whether it is checked before its first use that the agent asks for approval; default true. */
  readonly probe?: boolean;
}

export interface TitleSettings {
  /** What writes the titles of sessions without a name; `off` for none. */
  readonly source: NonNullable<RawConfig['titles']>;
  /** The model that writes titles: `account/id`. By default a small model of the session's account, if one is known. */
  readonly model?: string;
}

/** How `chat`, `attach` and `run` notify someone who may not be looking at the terminal. */
export interface NotifySettings {
  readonly bell: boolean;
  /** Show the session and its state in the title of the window. */
  readonly title: boolean;
  /** Request notifications of the desktop from the terminal. */
  readonly desktop: boolean;
}

/** How agents are hosted. Most settings apply for the lifetime of the daemon. */
export interface DaemonSettings {
  /** Which doors are open; others have their default. */
  readonly doors: Readonly<Partial<Record<string, boolean>>>;
  /** The agent that is available over HTTP. */
  readonly tasks?: RawTasks;
  readonly limits: Partial<HostLimits>;
  /** The configured limits of an agent's command; infinite for no limit. */
  readonly commandLimits?: RawLimits;
  /** The configured limits of the background commands of a session. */
  readonly backgroundLimits?: RawBackgroundLimits;
  readonly hibernateAfterMs?: number;
  readonly durability?: Durability;
  readonly approvals: DeadlinePolicy;
  /** Whether processes of agents' commands may connect to Polypod's sockets. */
  readonly allowAgentPeers?: boolean;
  /** How long runs may continue when the daemon stops. */
  readonly shutdownGraceMs: number;
  /** The configured limits of the audit log. */
  readonly audit?: Partial<AuditLimits>;
}

/** A stream rule as the configuration file states it. */
export type RawStreamRule = Omit<StreamRule, 'path'>;

/** The configured permissions of agents; the command line can override them. */
export interface Permissions {
  readonly mode?: PermissionMode;
  readonly rules: readonly Rule[];
  readonly allowPaths: readonly string[];
  /** Hosts that web requests may reach although they are on this machine or in a private network. */
  readonly privateHosts: readonly string[];
  /** Variables that are passed to commands although they may hold secrets. */
  readonly passEnv: readonly string[];
  /** Whether commands outside the sandbox run in their own process namespace, where supported; default true. */
  readonly isolateCommands?: boolean;
}

/** The provider of web searches. */
export interface WebSearchSettings {
  readonly provider: SearchProviderName;
  readonly baseUrl?: string;
  /** Absent: the variable that the provider usually has. */
  readonly key?: ValueSource;
}

/** How commands are sandboxed. Paths are absolute or start with `~/`. */
export interface SandboxSettings {
  /** Whether every agent runs its commands in the sandbox, as with --sandbox. */
  readonly enabled?: boolean;
  /** Paths that commands may read, beside the workspace, the system and the programs on PATH. */
  readonly read?: readonly string[];
  /** Paths that are hidden from commands, even in the workspace. */
  readonly hide?: readonly string[];
  /** Files of the workspace that commands may see although their names suggest secrets. */
  readonly show?: readonly string[];
  /** The size limit of /tmp and of the home directory, which are in memory. */
  readonly tmpBytes?: number;
}

/** The configuration, with warnings for the user. */
export interface LoadedConfig {
  readonly config: Config;
  readonly warnings: readonly string[];
}

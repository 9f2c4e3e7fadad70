import type { JsonObject } from '../../base/index.ts';
import type { AgentCapabilities, AgentLaunch, AgentProgram } from '../agent-program.ts';

/** An agent that speaks the Agent Client Protocol, version 1, on its standard streams. */
export interface AcpDescription
  extends Pick<AgentProgram, 'name' | 'title' | 'command' | 'install' | 'signIn' | 'env'> {
  /** What is known before the program is started; the rest is learnt from its answer to `initialize`. */
  readonly capabilities?: Partial<AgentCapabilities>;
  /**
   * Capabilities that the program reports but does not have, such as a `session/load` that fails.
   */
  readonly without?: readonly (keyof AgentCapabilities)[];
  /** Added to the command. */
  readonly args?: readonly string[];
  /** Whether the agent may use our files and commands. An agent that asks for permission before it does so would ask twice. */
  readonly clientAccess?: boolean;
  /** See `CallDialect.commandInTitle`. */
  readonly commandInTitle?: boolean;
  /** A mode or config option value in which the agent asks for every call, set after the session is open. */
  readonly askMode?: string;
  /** Sent as `_meta` with every new, loaded or forked session. */
  readonly sessionMeta?: (launch: Pick<AgentLaunch, 'trustProject'>) => JsonObject;
  /** The files and variables that keep the project from changing permissions. */
  readonly prepare?: PrepareLaunch;
  /** Whether `session/new` fails with the error for a missing sign-in; otherwise only a prompt would show it. */
  readonly reportsSignIn?: boolean;
  /** How to use a model on the loopback interface, for the probe. */
  readonly probeModel?: PrepareProbe;
}

/** What a program is started with, besides its command. */
export interface PreparedLaunch {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Instructions of the project that the agent no longer reads itself: sent with the first prompt of a session. */
  readonly instructions: string;
}

export type PrepareLaunch = (
  launch: Pick<AgentLaunch, 'env' | 'directory' | 'trustProject'> & { readonly cwd: string },
) => Promise<PreparedLaunch>;

/** How the agent is directed to the model of the probe. */
export interface ProbeModel {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The name of the agent's shell tool. */
  readonly tool: string;
}

export type PrepareProbe = (
  url: string,
  launch: Pick<AgentLaunch, 'env'> & { readonly home: string },
) => Promise<ProbeModel>;

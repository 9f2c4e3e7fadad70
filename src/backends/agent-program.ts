import type { Env } from '../base/index.ts';
import type { McpServerSpec } from '../mcp/index.ts';
import type { ThinkingLevel } from '../llm/index.ts';
import type { ClientAnswer, PermissionMode, ToolContext } from '../tools/index.ts';
import type { CompactionRequest } from '../worker/index.ts';
import type { AgentCall, AgentEvent, AgentInput, PermissionReply } from './agent-event.ts';

/** Another agent that can do the work of a pod. One per sibling folder, listed in the registry. */
export interface AgentProgram {
  /** The name in `--backend` and in the configuration. */
  readonly name: string;
  /** The name of the product. */
  readonly title: string;
  readonly capabilities: AgentCapabilities;
  /** The program that is started, unless the configuration names another. */
  readonly command: readonly [string, ...string[]];
  /** How to install it and how to sign in, for error messages: `npm install -g …`. */
  readonly install: string;
  readonly signIn: string;
  /** Names of the environment variables that the agent needs, with its own keys. `*` at the end matches any rest. */
  readonly env: readonly string[];
  /** Starts the agent and opens or resumes a session. Rejects with the reason and the next step. Events may arrive before it resolves. */
  readonly connect: (options: ConnectOptions) => Promise<AgentConnection>;
  /**
   * Checks that a call that must be approved is not run without approval. It uses a model of its own on the loopback interface,
   * costs nothing, and leaves no files. Absent if the protocol of the agent does not allow such a check.
   */
  readonly probe?: (options: ProbeOptions) => Promise<ProbeResult>;
  /** Describes the installed program without a model: version and whether a user is signed in. */
  readonly describe: (options: ProbeOptions) => Promise<AgentDescription>;
}

export interface AgentCapabilities {
  /** Whether a message can become part of a running turn. Without it, a steering message is the next prompt of the run. */
  readonly steer: boolean;
  /** Whether the arguments of a call can be changed with its approval. */
  readonly editInput: boolean;
  /** Whether the reason of a denial reaches the model. */
  readonly denyReason: boolean;
  /** Whether a session can be continued by another process. Without it, the conversation so far is sent with the next prompt. */
  readonly resume: boolean;
  /** Whether a session can be continued as a new one. */
  readonly fork: boolean;
  readonly compact: boolean;
  /** Whether the model can be chosen per session. */
  readonly model: boolean;
  readonly images: boolean;
  /** Whether the agent reports the cost of the whole session (`total-cost`) instead of each request's. */
  readonly totalCost?: boolean;
}

/** How a session of the agent begins. */
export type SessionStart =
  | { readonly type: 'new' }
  | { readonly type: 'resume'; readonly sessionId: string }
  /** A new session that begins with the conversation of another one. */
  | { readonly type: 'fork'; readonly sessionId: string };

/** How to start the program: from the configuration, or the defaults of `AgentProgram`. */
export interface AgentLaunch {
  readonly command: readonly [string, ...string[]];
  /** The complete environment of the program: without our keys and those of other providers. */
  readonly env: Env;
  /**
   * Whether the user trusts the project's own configuration of this agent (hooks, MCP servers, permissions, endpoints). By default
   * the agent is started so that it has no effect.
   */
  readonly trustProject: boolean;
  /** A private directory for files that the agent must read, such as settings. It exists. */
  readonly directory: string;
  /** Records the process, so that it can be ended if this process is killed. */
  readonly record: NonNullable<ToolContext['record']>;
}

export interface ConnectOptions extends AgentLaunch {
  readonly cwd: string;
  readonly start: SessionStart;
  readonly settings: AgentSettings;
  /** MCP servers of the pod, which the agent connects to itself. */
  readonly mcpServers: readonly McpServerSpec[];
  /** Files and commands that the agent asks its client to read, write and run, under our policy. */
  readonly services: AgentServices;
  /** Receives all events that one read from the program has produced. Reading stops until the promise resolves. */
  readonly onEvents: (events: readonly AgentEvent[]) => Promise<void>;
  /** Called once when the program has ended or broken its protocol, unless `close` was called. Open requests are void. */
  readonly onEnd: (end: AgentEnd) => void;
  /** Ends the program, also before the session is open. */
  readonly signal?: AbortSignal | undefined;
}

/** What of the pod's settings an agent can apply. */
export interface AgentSettings {
  /** The agent's own name of a model; by default the agent's choice. */
  readonly model?: string;
  readonly thinking?: ThinkingLevel;
  readonly mode: PermissionMode;
  /** Replaces the agent's system prompt. */
  readonly system?: string;
  readonly appendSystem?: string;
  readonly maxTurns?: number;
  /** In USD. */
  readonly budget?: number;
  /** The only tools that the model may have: names of our tools, or of the agent's. */
  readonly allowedTools?: readonly string[];
  /** Tools that the model must not have: globs for names of our tools, or of the agent's. */
  readonly disallowedTools?: readonly string[];
  /** Absolute paths besides the working directory. */
  readonly paths: readonly string[];
}

/** What an agent may ask of its client. Everything is judged by the policy; a rejection becomes an error answer. */
export interface AgentServices {
  readonly readTextFile: (path: string, signal: AbortSignal) => Promise<string>;
  readonly writeTextFile: (path: string, content: string, signal: AbortSignal) => Promise<void>;
  /** Runs a command as our `bash` tool does, with approval, sandbox and limits. */
  readonly runCommand: (request: ServiceCommand, signal: AbortSignal) => Promise<ServiceCommandEnd>;
}

export interface ServiceCommand {
  readonly command: string;
  readonly cwd: string;
  readonly onOutput: (text: string) => void;
}

export interface ServiceCommandEnd {
  readonly output: string;
  readonly exitCode: number | null;
}

/** A running agent with one open session. */
export interface AgentConnection {
  /** What the program reported when it started, for programs whose capabilities are not known before; the rest as in `AgentProgram`. */
  readonly capabilities?: Partial<AgentCapabilities>;
  /** Starts a turn; `turn-end` ends it. Called only while no turn is active. */
  readonly prompt: (input: AgentInput) => void;
  /** Adds a message to the running turn; `steered` follows. Absent without the capability. */
  readonly steer?: (input: AgentInput) => void;
  /** Ends the running turn; `turn-end` follows. The connection answers open requests of the agent itself. */
  readonly cancel: () => void;
  readonly answer: (requestId: string, reply: PermissionReply) => void;
  /** The call with other arguments (JSON text), for the policy. Absent without the capability `editInput`. */
  readonly changeCall?: (call: AgentCall, args: string) => AgentCall;
  readonly reply: (requestId: string, answer: ClientAnswer) => void;
  /** Applies settings to later turns. Rejects with the reason if the agent refuses one. */
  readonly configure: (settings: AgentSettings) => Promise<void>;
  /** Summarizes the conversation; `compacted` and `turn-end` follow. Absent without the capability. */
  readonly compact?: (request: CompactionRequest) => void;
  /** Ends the program: politely, then SIGTERM, then SIGKILL for it and its descendants. Never rejects. */
  readonly close: () => Promise<void>;
}

export interface AgentEnd {
  /** What happened: exit code or signal, or how the program broke its protocol. */
  readonly message: string;
  /** The end of its standard error, without secrets. */
  readonly stderr: string;
}

export interface ProbeOptions extends AgentLaunch {
  readonly signal: AbortSignal;
}

export type ProbeResult =
  | { readonly status: 'asks' }
  /** The program ran a call without approval: it must not be used. */
  | { readonly status: 'runs-unasked'; readonly detail: string }
  | { readonly status: 'failed'; readonly detail: string };

export interface AgentDescription {
  /** Undefined if the program is not installed. */
  readonly version: string | undefined;
  readonly signedIn: 'yes' | 'no' | 'unknown';
  /** What is wrong and what to do, if something is. */
  readonly problem?: string;
}

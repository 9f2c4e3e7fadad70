import {
  asPolypodError,
  isSecretVariable,
  messageOf,
  PolypodError,
  type Redact,
  redactor,
  truncateErrorMessage,
} from '../base/index.ts';
import type { Failure } from '../llm/index.ts';
import type { McpServerSpec } from '../mcp/index.ts';
import type { AgentEvent } from './agent-event.ts';
import type {
  AgentConnection,
  AgentEnd,
  AgentLaunch,
  AgentProgram,
  AgentServices,
  AgentSettings,
  SessionStart,
} from './agent-program.ts';
import type { AgentSessionId } from './backend.ts';

export interface AgentSessionParts {
  readonly program: AgentProgram;
  readonly podId: string;
  readonly cwd: string;
  /** Prepares the start of the program. Rejects with the next step if it must not be used. */
  readonly launch: () => Promise<AgentLaunch>;
  readonly mcpServers: () => Promise<readonly McpServerSpec[]>;
}

/** What the current worker of the pod receives. */
export interface SessionListener {
  readonly onEvents: (events: readonly AgentEvent[]) => Promise<void>;
  readonly onEnd: (end: AgentEnd) => void;
  readonly services: AgentServices;
}

export interface OpenedSession {
  readonly connection: AgentConnection;
  /** Whether the agent knows the conversation so far. */
  readonly isContinued: boolean;
}

/** The agent's program of one pod: started with the first prompt, and again after it has ended. */
export class AgentSession {
  readonly #parts: AgentSessionParts;
  #opening: Promise<OpenedSession> | undefined;
  /** Ends the program while it starts. */
  #stop = new AbortController();
  #connection: AgentConnection | undefined;
  #configured = '';
  #listener: SessionListener | undefined;

  constructor(parts: AgentSessionParts) {
    this.#parts = parts;
  }

  get program(): AgentProgram {
    return this.#parts.program;
  }

  /** Returns the connection, and starts the program if it is not running. Rejects with the reason and the next step. */
  async open(
    recorded: AgentSessionId | undefined,
    settings: AgentSettings,
    listener: SessionListener,
  ): Promise<OpenedSession> {
    this.#listener = listener;
    if (this.#connection !== undefined) {
      const connection = this.#connection;
      await this.#configure(connection, settings);
      return { connection, isContinued: true };
    }
    if (this.#opening === undefined) {
      this.#stop = new AbortController();
      this.#opening = this.#start(recorded, settings, this.#stop.signal).finally(() => {
        this.#opening = undefined;
      });
    }
    return this.#opening;
  }

  /** Ends the program. The next `open` starts it again. */
  async end(): Promise<void> {
    if (this.#connection === undefined) this.#stop.abort();
    const connection = this.#connection ?? (await this.#opening?.catch(() => undefined))?.connection;
    this.#connection = undefined;
    await connection?.close();
  }

  async #configure(connection: AgentConnection, settings: AgentSettings): Promise<void> {
    const wanted = JSON.stringify(settings);
    if (wanted === this.#configured) return;
    await connection.configure(settings);
    this.#configured = wanted;
  }

  async #start(
    recorded: AgentSessionId | undefined,
    settings: AgentSettings,
    signal: AbortSignal,
  ): Promise<OpenedSession> {
    const launch = await this.#parts.launch();
    const start = this.#startOf(recorded);
    try {
      const connection = await this.#connect(launch, start, settings, signal);
      return { connection, isContinued: start.type !== 'new' };
    } catch (thrown) {
      if (start.type === 'new' || signal.aborted) throw thrown;
      // The agent's own session is lost: it starts a new one and receives the conversation with the prompt.
      const connection = await this.#connect(launch, { type: 'new' }, settings, signal).catch(
        (again: unknown) => {
          throw new PolypodError('unreachable', messageOf(again), { cause: thrown });
        },
      );
      return { connection, isContinued: false };
    }
  }

  #startOf(recorded: AgentSessionId | undefined): SessionStart {
    const { program, podId } = this.#parts;
    if (recorded === undefined) return { type: 'new' };
    const { id: sessionId } = recorded;
    // Two pods must not write to one session of the agent.
    if (recorded.podId !== podId)
      return program.capabilities.fork ? { type: 'fork', sessionId } : { type: 'new' };
    return program.capabilities.resume ? { type: 'resume', sessionId } : { type: 'new' };
  }

  async #connect(
    launch: AgentLaunch,
    start: SessionStart,
    settings: AgentSettings,
    signal: AbortSignal,
  ): Promise<AgentConnection> {
    const { program, cwd, mcpServers } = this.#parts;
    const redact = redactorOf(launch);
    let isEnded = false;
    const connection = await program
      .connect({
        ...launch,
        cwd,
        start,
        settings,
        signal,
        mcpServers: await mcpServers(),
        services: this.#services(),
        onEvents: async (events) => this.#listener?.onEvents(events.map((event) => redacted(event, redact))),
        onEnd: (end) => {
          isEnded = true;
          this.#connection = undefined;
          this.#listener?.onEnd(end);
        },
      })
      .catch((thrown: unknown) => {
        const { code } = asPolypodError(thrown);
        throw new PolypodError(code, redact(messageOf(thrown)), { cause: thrown });
      });
    if (!isEnded) this.#connection = connection;
    this.#configured = JSON.stringify(settings);
    return connection;
  }

  /** The services of the worker that is current when the agent asks. */
  #services(): AgentServices {
    const services = (): AgentServices => {
      if (this.#listener !== undefined) return this.#listener.services;
      throw new PolypodError('conflict', 'no run is active');
    };
    return {
      readTextFile: async (path, signal) => services().readTextFile(path, signal),
      writeTextFile: async (path, content, signal) => services().writeTextFile(path, content, signal),
      runCommand: async (request, signal) => services().runCommand(request, signal),
    };
  }
}

/** Agents quote their keys in error messages. */
function redactorOf({ env }: AgentLaunch): Redact {
  const redact = redactor(
    Object.entries(env).flatMap(([name, value]) => (isSecretVariable(name, value) ? [value] : [])),
  );
  return (text) => truncateErrorMessage(redact(text));
}

function redacted(event: AgentEvent, redact: Redact): AgentEvent {
  if (event.type === 'retry') return { ...event, failure: redactedFailure(event.failure, redact) };
  if (event.type !== 'turn-end' || event.outcome.status !== 'failed') return event;
  const failure = redactedFailure(event.outcome.failure, redact);
  return { type: 'turn-end', outcome: { status: 'failed', failure } };
}

function redactedFailure(failure: Failure, redact: Redact): Failure {
  return { ...failure, message: redact(failure.message) };
}

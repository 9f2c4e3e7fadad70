import { type Env, type JsonObject, messageOf, type Redact, withoutUndefined } from '../base/index.ts';
import { errorOutput, type ToolOutput, type ToolContext } from '../tools/index.ts';
import type { AskUser } from './connection/elicitation.ts';
import { orAbort } from './abort.ts';
import type { Clock } from './clock.ts';
import { type Connection, openConnection } from './connection/connection.ts';
import { answerFailure, isTimeout, type McpFailure } from './connection/failure.ts';
import { toToolOutput } from './tools/output.ts';
import { decideRestart, type RestartPolicy } from './restart.ts';
import { readResult } from './tools/result.ts';
import { lossText, outageText, type ServerState } from './server-state.ts';
import type { McpServerSpec } from './spec.ts';
import type { ListedTool } from './tools/tool-listing.ts';

/** Time limits and restart policy. */
export interface McpTuning {
  /** From the start of a server to the list of its tools. */
  readonly connectTimeoutMs: number;
  /** How long a call may run without progress, unless the server's configuration overrides it. */
  readonly callTimeoutMs: number;
  /** How long a server may take to exit on its own, and again after SIGTERM. */
  readonly graceMs: number;
  readonly restart: RestartPolicy;
  readonly clock: Clock;
}

/** The status of a server, for display. Contains no secrets. */
export interface McpServerStatus {
  readonly name: string;
  readonly transport: McpServerSpec['transport'];
  readonly state: ServerState['type'];
  /** The number of its tools, or the last known number. */
  readonly tools: number;
  /** The last reason why it was lost or could not be reached. */
  readonly error?: string;
  readonly pid?: number;
  /** The name and version it reports. */
  readonly version?: string;
}

export interface ServerOptions {
  readonly clientVersion: string;
  readonly env: Env;
  readonly cwd: string;
  readonly redact: Redact;
  readonly fetch?: typeof fetch;
  readonly ask?: AskUser;
  readonly tuning: McpTuning;
  readonly onChange: (status: McpServerStatus) => void;
}

/** One server: connected when first needed, and again after it was lost. */
export class McpServer {
  readonly spec: McpServerSpec;
  readonly #options: ServerOptions;
  readonly #closing = new AbortController();
  #state: ServerState = { type: 'idle' };
  #connection: Connection | undefined;
  #tools: readonly ListedTool[] = [];
  #failure: McpFailure | undefined;
  #restarts = 0;
  #firstAttempt: Promise<void> | undefined;
  #closed: Promise<void> | undefined;
  /** Background work. It never rejects, and `close` waits for it. */
  #work: Promise<void> = Promise.resolve();

  constructor(spec: McpServerSpec, options: ServerOptions) {
    this.spec = spec;
    this.#options = options;
  }

  /** The last known tools, also while the server is unavailable. */
  get tools(): readonly ListedTool[] {
    return this.#tools;
  }

  get status(): McpServerStatus {
    const { name, transport } = this.spec;
    const { pid, version } = this.#connection ?? {};
    return {
      name,
      transport,
      state: this.#state.type,
      tools: this.#tools.length,
      ...(this.#failure === undefined ? {} : { error: this.#failure.text }),
      ...withoutUndefined({ pid, version }),
    };
  }

  /** Resolves when the first connection attempt has succeeded or failed. */
  start(): Promise<void> {
    this.#firstAttempt ??= this.#connect();
    return this.#firstAttempt;
  }

  async call(
    tool: string,
    input: JsonObject,
    { update, scratch }: Pick<ToolContext, 'update' | 'scratch'>,
    signal: AbortSignal,
  ): Promise<ToolOutput> {
    const origin = { server: this.spec.name, tool };
    const connection = this.#connection;
    if (connection === undefined) return errorOutput(this.#reportOutage(), origin);
    const timeoutMs = this.spec.callTimeoutMs ?? this.#options.tuning.callTimeoutMs;
    let answer: unknown;
    try {
      answer = await connection.call(tool, input, { timeoutMs, onProgress: update, signal });
    } catch (thrown) {
      return errorOutput(await this.#callFailure(connection, tool, thrown, timeoutMs, signal), origin);
    }
    return toToolOutput(readResult(answer), origin, scratch);
  }

  /** Ends the server. Further calls wait for the same end. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    this.#closing.abort();
    this.#enter({ type: 'closed' });
    await Promise.all([connection?.end(), this.#work]);
  }

  #connect(): Promise<void> {
    if (this.#state.type === 'closed') return Promise.resolve();
    this.#work = this.#attempt();
    return this.#work;
  }

  async #attempt(): Promise<void> {
    const { tuning, clientVersion, env, cwd, fetch, ask } = this.#options;
    this.#enter({ type: 'connecting' });
    let isLost = false;
    const opened = await openConnection(this.spec, {
      clientVersion,
      env,
      cwd,
      timeoutMs: tuning.connectTimeoutMs,
      graceMs: tuning.graceMs,
      ...withoutUndefined({ fetch, ask }),
      signal: this.#closing.signal,
      onLost: (failure) => {
        isLost = true;
        this.#onLost(failure);
      },
      onToolsChanged: () => this.#updateTools(),
    }).catch((thrown: unknown) => ({ failure: { text: messageOf(thrown), permanent: true } }));
    if ('failure' in opened) return this.#onLost(opened.failure);
    // The server may be lost before `openConnection` resolves.
    if (isLost || this.#closing.signal.aborted) return opened.connection.end();
    this.#connection = opened.connection;
    this.#tools = opened.connection.tools;
    this.#enter({ type: 'ready', since: tuning.clock.now() });
  }

  /** Called before pending calls fail, so that their messages include what happens next. */
  #onLost({ text, permanent }: McpFailure): void {
    if (this.#closing.signal.aborted) return;
    const { redact, tuning } = this.#options;
    const connection = this.#connection;
    const livedMs = this.#state.type === 'ready' ? tuning.clock.now() - this.#state.since : 0;
    this.#connection = undefined;
    this.#failure = { text: redact(text), permanent };
    const decision = decideRestart(tuning.restart, {
      failure: this.#failure,
      restarts: this.#restarts,
      livedMs,
    });
    this.#restarts = decision.restarts;
    if (decision.type === 'give-up') {
      this.#work = connection?.end() ?? Promise.resolve();
      this.#enter({ type: 'failed' });
      return;
    }
    const attempt = `restart ${decision.restarts} of ${tuning.restart.maxRestarts}`;
    this.#work = this.#restart(connection, decision.delayMs);
    this.#enter({ type: 'restarting', delayMs: decision.delayMs, attempt });
  }

  async #restart(old: Connection | undefined, delayMs: number): Promise<void> {
    const { signal } = this.#closing;
    // Wait until the old process has ended: it may hold a lock or a port.
    await Promise.all([old?.end(), this.#options.tuning.clock.sleep(delayMs, signal)]);
    if (!signal.aborted) await this.#attempt();
  }

  #updateTools(): void {
    if (this.#connection === undefined) return;
    this.#tools = this.#connection.tools;
    this.#options.onChange(this.status);
  }

  #reportOutage(): string {
    const text = outageText(this.spec.name, this.#state, this.#failure);
    // A server that was given up gets another attempt when it is needed: the problem may be solved.
    if (this.#state.type === 'failed') void this.#connect();
    return text;
  }

  async #callFailure(
    connection: Connection,
    tool: string,
    thrown: unknown,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<string> {
    const { name } = this.spec;
    // A cancelled call says nothing about the server, so do not wait for the check.
    if (!signal.aborted) await orAbort(connection.check(thrown), signal).catch(() => undefined);
    if (signal.aborted) return `${tool} of the MCP server "${name}" was cancelled`;
    if (this.#connection !== connection) return lossText(name, this.#state, this.#failure);
    if (isTimeout(thrown))
      return `${tool} of the MCP server "${name}" was cancelled after ${timeoutMs / 1000} s without an answer or progress`;
    return `${tool} of the MCP server "${name}" failed: ${this.#options.redact(answerFailure(thrown, timeoutMs).text)}`;
  }

  #enter(state: ServerState): void {
    this.#state = state;
    this.#options.onChange(this.status);
  }
}

import { resolve } from 'node:path';
import {
  arrayOf,
  isObject,
  type JsonObject,
  objectOf,
  PolypodError,
  readMessage,
  stringOf,
} from '../../base/index.ts';
import type { McpServerSpec } from '../../mcp/index.ts';
import { createDiff, diffDetails } from '../../tools/index.ts';
import { RPC_CODES } from '../../wire/index.ts';
import type { AgentEvent, AgentInput } from '../agent-event.ts';
import { AgentProcess } from '../agent-process.ts';
import type { AgentCapabilities, AgentConnection, AgentSettings, ConnectOptions } from '../agent-program.ts';
import { type FileDiff, quoteWord, shortPath } from './calls.ts';
import { clientError, ClientRequests, isDeclared } from './client-requests.ts';
import type { AcpDescription, PreparedLaunch } from './program.ts';
import {
  type AcpAction,
  type AcpState,
  type AcpStep,
  answerPermission,
  answerQuestion,
  cancelTurn,
  failureOf,
  newState,
  startTurn,
  step,
} from './step.ts';

const PROTOCOL_VERSION = 1;
const AUTH_REQUIRED = -32000;
/** From the start of the program to an open session. */
const START_MS = 60_000;
/** How long the agent may take to change a setting. */
const SETTING_MS = 30_000;
/** How long the agent may take to end a turn after `session/cancel`. */
const CANCEL_MS = 30_000;
const MAX_INVALID_LINES = 1_000;
/** The id is recorded with the settings of the pod. */
const MAX_ID = 1_000;

/** Starts the agent and opens a session. */
export async function connectAcp(
  description: AcpDescription,
  options: ConnectOptions,
): Promise<AgentConnection> {
  const link = await AcpLink.start(description, options);
  try {
    return await link.within(START_MS, 'open a session', link.open());
  } catch (thrown) {
    await link.close();
    throw thrown;
  }
}

/** An answer with an error to one of our requests. */
export class AcpError extends PolypodError {
  readonly rpcCode: unknown;

  constructor(method: string, error: JsonObject) {
    super('unreachable', `${method} failed: ${failureOf(error).message}`);
    this.rpcCode = error.code;
  }

  /** Whether a user must sign in first. */
  get needsSignIn(): boolean {
    return this.rpcCode === AUTH_REQUIRED;
  }
}

interface SentRequest {
  readonly method: string;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** One process of an agent with at most one session. */
export class AcpLink {
  readonly #description: AcpDescription;
  readonly #options: ConnectOptions;
  readonly #prepared: PreparedLaunch;
  readonly #requests: ClientRequests;
  readonly #sent = new Map<number, SentRequest>();
  #process!: AgentProcess;
  #state: AcpState;
  #nextId = 0;
  #invalidLines = 0;
  #isOver = false;
  /** Set after the program has ended. */
  #endMessage = '';
  #delivery: Promise<void> = Promise.resolve();
  #cancelTimer: NodeJS.Timeout | undefined;
  /** The answer to `initialize`. */
  #agent: JsonObject = {};
  /** The config options of the session, and the lists that were used before them. */
  #session: JsonObject = {};
  /** Sent before the first prompt. */
  #preamble = '';

  /** Starts the program. */
  static async start(description: AcpDescription, options: ConnectOptions): Promise<AcpLink> {
    const { env, directory, trustProject, cwd } = options;
    const prepared = (await description.prepare?.({ env, directory, trustProject, cwd })) ?? NOTHING_PREPARED;
    const link = new AcpLink(description, options, prepared);
    link.#process = await AgentProcess.start({
      command: options.command,
      args: [...(description.args ?? []), ...prepared.args],
      env: { ...env, ...prepared.env },
      // Not in the project: some programs read `.env` and other files of their working directory before anything else.
      cwd: directory,
      record: options.record,
      signal: options.signal,
      onLines: (lines) => link.#receive(lines),
      onEnd: ({ message, stderr }) => link.#ended(message, stderr),
    });
    return link;
  }

  private constructor(description: AcpDescription, options: ConnectOptions, prepared: PreparedLaunch) {
    this.#description = description;
    this.#options = options;
    this.#prepared = prepared;
    this.#requests = new ClientRequests(options.services, options.cwd);
    this.#state = newState({ cwd: options.cwd, commandInTitle: description.commandInTitle ?? false });
  }

  /** Sends `initialize`. Resolves with the agent's name and version. */
  async initialize(): Promise<JsonObject> {
    const params = {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: this.#clientCapabilities,
      clientInfo: { name: 'polypod', title: 'Polypod', version: '0' },
    };
    this.#agent = objectOf(await this.request('initialize', params));
    const { protocolVersion } = this.#agent;
    if (protocolVersion !== PROTOCOL_VERSION)
      throw new PolypodError(
        'unreachable',
        `${this.#description.title} uses version ${String(protocolVersion)} of the Agent Client Protocol; Polypod uses version ${PROTOCOL_VERSION}`,
      );
    return objectOf(this.#agent.agentInfo);
  }

  /** Opens the session that the options ask for. */
  async open(): Promise<AgentConnection> {
    await this.initialize();
    const { start, settings } = this.#options;
    const { sessionId, session } = await this.#openSession();
    this.#session = session;
    if (start.type === 'new') this.#preamble = preambleOf(this.#prepared.instructions, settings);
    await this.#setAskMode(sessionId);
    await this.#configure(sessionId, settings);
    this.#state = { ...this.#state, sessionId };
    const { currentModelId } = objectOf(session.models);
    const model = settings.model ?? currentValue(session, 'model') ?? stringOf(currentModelId);
    await this.#deliver([{ type: 'session', sessionId, ...(model !== '' && { model }) }]);
    return {
      capabilities: this.#capabilities(),
      prompt: (input) => this.#prompt(sessionId, input),
      cancel: () => this.#cancel(sessionId),
      answer: (requestId, reply) => this.#apply(answerPermission(this.#state, requestId, reply)),
      reply: (requestId, answer) => this.#apply(answerQuestion(this.#state, requestId, answer)),
      configure: (changed) => this.#configure(sessionId, changed),
      close: () => this.close(),
    };
  }

  /** Sends a request. Rejects with the agent's error, or when the program ends. */
  request(method: string, params: object): Promise<unknown> {
    if (this.#isOver) return Promise.reject(this.#gone(method));
    return new Promise((resolve, reject) => {
      this.#sent.set(this.#send(method, params), { method, resolve, reject });
    });
  }

  /** Rejects with the agent's standard error if the work takes longer. */
  async within<T>(limitMs: number, goal: string, work: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const message = `${this.#description.title} did not ${goal} within ${limitMs / 1000} s`;
        reject(new PolypodError('unreachable', withStderr(message, this.#process.stderr)));
      }, limitMs);
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  async close(): Promise<void> {
    this.#isOver = true;
    clearTimeout(this.#cancelTimer);
    this.#requests.abortAll();
    await this.#process.close();
  }

  get #clientCapabilities(): JsonObject {
    const canUse = this.#description.clientAccess ?? false;
    return {
      fs: { readTextFile: canUse, writeTextFile: canUse },
      terminal: canUse,
      elicitation: { form: {} },
      session: { compaction: {} },
      _meta: { terminal_output: true },
    };
  }

  #capabilities(): Partial<AgentCapabilities> {
    const reported = objectOf(this.#agent.agentCapabilities);
    const sessions = objectOf(reported.sessionCapabilities);
    const all: Partial<AgentCapabilities> = {
      resume: reported.loadSession === true || isObject(sessions.resume),
      fork: isObject(sessions.fork),
      images: objectOf(reported.promptCapabilities).image === true,
      model: this.#modelOption() !== undefined,
    };
    const without = (this.#description.without ?? []).map((name) => [name, false]);
    return { ...all, ...Object.fromEntries(without) };
  }

  async #openSession(): Promise<{ readonly sessionId: string; readonly session: JsonObject }> {
    const { start, cwd, mcpServers, settings } = this.#options;
    const reported = objectOf(this.#agent.agentCapabilities);
    const sessions = objectOf(reported.sessionCapabilities);
    const meta = this.#description.sessionMeta?.(this.#options);
    const params = {
      cwd,
      mcpServers: this.#mcpServers(mcpServers, objectOf(reported.mcpCapabilities)),
      ...(isObject(sessions.additionalDirectories) &&
        settings.paths.length > 0 && { additionalDirectories: settings.paths }),
      ...(meta !== undefined && { _meta: meta }),
    };
    if (start.type === 'new') {
      const session = objectOf(await this.#sessionRequest('session/new', params));
      return { sessionId: this.#sessionId(session), session };
    }
    const { sessionId } = start;
    if (start.type === 'fork') {
      if (!isObject(sessions.fork))
        throw new PolypodError('conflict', `${this.#description.title} cannot fork a session`);
      const session = objectOf(await this.#sessionRequest('session/fork', { sessionId, ...params }));
      const forkedId = this.#sessionId(session);
      // Two pods must not write to one session.
      if (forkedId === sessionId)
        throw new PolypodError('unreachable', `${this.#description.title} forked a session as itself`);
      return { sessionId: forkedId, session };
    }
    const canResume = isObject(sessions.resume);
    if (!canResume && reported.loadSession !== true)
      throw new PolypodError(
        'conflict',
        `${this.#description.title} cannot continue a session in another process`,
      );
    const method = canResume ? 'session/resume' : 'session/load';
    return { sessionId, session: objectOf(await this.#sessionRequest(method, { sessionId, ...params })) };
  }

  /** The id of a session that the agent has opened. */
  #sessionId(session: JsonObject): string {
    const sessionId = stringOf(session.sessionId);
    if (sessionId !== '' && sessionId.length <= MAX_ID) return sessionId;
    throw new PolypodError(
      'unreachable',
      `${this.#description.title} opened a session without an id of at most ${MAX_ID} characters`,
    );
  }

  async #sessionRequest(method: string, params: object): Promise<unknown> {
    try {
      return await this.request(method, params);
    } catch (thrown) {
      if (!(thrown instanceof AcpError) || !thrown.needsSignIn) throw thrown;
      const { title, signIn } = this.#description;
      throw new PolypodError('denied', `${title} is not signed in (${thrown.message}): ${signIn}`, {
        cause: thrown,
      });
    }
  }

  #mcpServers(servers: readonly McpServerSpec[], { http }: JsonObject): readonly object[] {
    return servers.map((server) => {
      if (server.transport === 'stdio') return stdioServer(server, this.#options);
      if (http !== true)
        throw new PolypodError(
          'bad-request',
          `${this.#description.title} cannot use the MCP server ${server.name}: it does not support HTTP`,
        );
      const headers = Object.entries(server.headers).map(([name, value]) => ({ name, value }));
      return { type: 'http', name: server.name, url: server.url, headers };
    });
  }

  /** Selects the mode in which the agent asks for every call. */
  async #setAskMode(sessionId: string): Promise<void> {
    const { askMode } = this.#description;
    if (askMode === undefined) return;
    const option = optionOf(this.#session, 'mode');
    if (option !== undefined)
      await this.request('session/set_config_option', { sessionId, configId: option.id, value: askMode });
    else await this.request('session/set_mode', { sessionId, modeId: askMode });
  }

  async #configure(sessionId: string, { model, thinking }: AgentSettings): Promise<void> {
    const { title } = this.#description;
    if (model !== undefined) {
      const option = this.#modelOption();
      if (option === undefined)
        throw new PolypodError('bad-request', `${title} cannot change its model over ACP: omit --model`);
      const change =
        option === 'models'
          ? this.request('session/set_model', { sessionId, modelId: model })
          : this.request('session/set_config_option', { sessionId, configId: option, value: model });
      await this.within(SETTING_MS, 'change its model', change);
    }
    const level = optionOf(this.#session, 'thought_level');
    // A level that the agent does not offer keeps its default.
    if (
      thinking !== undefined &&
      level !== undefined &&
      arrayOf(level.options).some((one) => objectOf(one).value === thinking)
    )
      await this.within(
        SETTING_MS,
        'change its thinking level',
        this.request('session/set_config_option', { sessionId, configId: level.id, value: thinking }),
      );
  }

  /** The id of the config option for the model, or the list that agents used before the protocol had options. */
  #modelOption(): string | undefined {
    const option = optionOf(this.#session, 'model');
    if (option !== undefined) return stringOf(option.id);
    return isObject(this.#session.models) ? 'models' : undefined;
  }

  #prompt(sessionId: string, input: AgentInput): void {
    const canSeeImages = this.#capabilities().images === true;
    const preamble = this.#preamble;
    this.#preamble = '';
    const prompt = [
      ...(preamble === '' ? [] : [{ type: 'text', text: preamble }]),
      ...input.map((part) =>
        part.type === 'text'
          ? { type: 'text', text: part.text }
          : canSeeImages
            ? { type: 'image', data: part.data, mimeType: part.mediaType }
            : {
                type: 'text',
                text: `[an image of type ${part.mediaType}, which this agent does not accept]`,
              },
      ),
    ];
    this.#state = startTurn(this.#state, this.#send('session/prompt', { sessionId, prompt }));
  }

  #cancel(sessionId: string): void {
    if (this.#state.promptId === undefined || this.#state.isCancelling) return;
    this.#notify('session/cancel', { sessionId });
    this.#apply(cancelTurn(this.#state));
    this.#requests.abortAll();
    this.#cancelTimer = setTimeout(
      () => this.#process.fail(`it did not end the turn within ${CANCEL_MS / 1000} s after session/cancel`),
      CANCEL_MS,
    );
  }

  /** Handles all lines of one read: the state and the answers at once, then all their events together. */
  async #receive(lines: readonly string[]): Promise<void> {
    const events: AgentEvent[] = [];
    const diffs = new Map<string, readonly FileDiff[]>();
    for (const line of lines) {
      const read = readMessage(line);
      if ('value' in read && isObject(read.value)) {
        const done = this.#take(step(this.#state, read.value));
        events.push(...done.events);
        for (const [callId, changed] of done.diffs) diffs.set(callId, changed);
      } else if (line.trim() !== '') this.#countInvalid();
    }
    if (events.length > 0) await this.#deliver(events, diffs);
  }

  #countInvalid(): void {
    this.#invalidLines += 1;
    if (this.#invalidLines === MAX_INVALID_LINES + 1)
      this.#process.fail(
        `it wrote more than ${MAX_INVALID_LINES} lines that are not messages of the protocol`,
      );
  }

  #apply(next: AcpStep): void {
    const { events, diffs } = this.#take(next);
    if (events.length > 0) void this.#deliver(events, diffs);
  }

  #take(next: AcpStep): AcpStep {
    const isTurnOver = this.#state.promptId !== undefined && next.state.promptId === undefined;
    this.#state = next.state;
    if (isTurnOver) {
      clearTimeout(this.#cancelTimer);
      this.#requests.abortAll();
    }
    for (const action of next.actions) this.#perform(action);
    return next;
  }

  #deliver(events: readonly AgentEvent[], diffs: AcpStep['diffs'] = new Map()): Promise<void> {
    this.#delivery = this.#delivery.then(async () => {
      if (!this.#isOver) await this.#options.onEvents(await withDiffs(events, diffs, this.#options.cwd));
    });
    return this.#delivery;
  }

  #perform(action: AcpAction): void {
    switch (action.type) {
      case 'result':
      case 'error':
        this.#process.send({ jsonrpc: '2.0', ...withoutType(action) });
        return;
      case 'settle':
        this.#settle(action.id, action.result, action.error);
        return;
      case 'abort':
        this.#requests.abort(action.id);
        return;
      case 'serve':
        void this.#serve(action.id, action.method, action.params);
        return;
    }
  }

  async #serve(id: unknown, method: string, params: JsonObject): Promise<void> {
    if (!isDeclared(method, this.#clientCapabilities)) {
      const error = { code: RPC_CODES.methodNotFound, message: `Method not found: ${method}` };
      this.#process.send({ jsonrpc: '2.0', id, error });
      return;
    }
    try {
      const result = await this.#requests.serve(id, method, params);
      this.#process.send({ jsonrpc: '2.0', id, result });
    } catch (thrown) {
      this.#process.send({ jsonrpc: '2.0', id, error: clientError(thrown, params) });
    }
  }

  #settle(id: number, result: unknown, error: unknown): void {
    const request = this.#sent.get(id);
    this.#sent.delete(id);
    if (isObject(error)) request?.reject(new AcpError(request.method, error));
    else request?.resolve(result);
  }

  #send(method: string, params: object): number {
    const id = this.#nextId;
    this.#nextId += 1;
    this.#process.send({ jsonrpc: '2.0', id, method, params });
    return id;
  }

  #notify(method: string, params: object): void {
    this.#process.send({ jsonrpc: '2.0', method, params });
  }

  #ended(message: string, stderr: string): void {
    this.#isOver = true;
    this.#endMessage = withStderr(message, stderr);
    clearTimeout(this.#cancelTimer);
    this.#requests.abortAll();
    for (const { method, reject } of this.#sent.values()) reject(this.#gone(method));
    this.#sent.clear();
    // Before the session is open, `connect` rejects.
    if (this.#state.sessionId === undefined) return;
    void this.#delivery.finally(() => this.#options.onEnd({ message, stderr }));
  }

  #gone(method: string): PolypodError {
    const { title } = this.#description;
    return new PolypodError(
      'unreachable',
      `${title} ended before it answered ${method}: ${this.#endMessage}`,
    );
  }
}

const NOTHING_PREPARED: PreparedLaunch = { args: [], env: {}, instructions: '' };

function withoutType({
  type: _,
  ...rest
}: Extract<AcpAction, { readonly type: 'result' | 'error' }>): object {
  return rest;
}

function withStderr(message: string, stderr: string): string {
  return stderr === '' ? message : `${message}\n${stderr}`;
}

/** Adds the diffs of calls that have ended to their details, as our own tools report them. */
async function withDiffs(
  events: readonly AgentEvent[],
  diffs: AcpStep['diffs'],
  cwd: string,
): Promise<readonly AgentEvent[]> {
  if (diffs.size === 0) return events;
  return Promise.all(
    events.map(async (event) => {
      const changed = event.type === 'call-end' ? diffs.get(event.callId) : undefined;
      if (changed === undefined || event.type !== 'call-end') return event;
      const all = await Promise.all(
        changed.map(({ path, before, after }) => createDiff(shortPath(path, cwd), before, after)),
      );
      const details = diffDetails({
        text: all.map(({ text }) => text).join(''),
        added: all.reduce((sum, { added }) => sum + added, 0),
        removed: all.reduce((sum, { removed }) => sum + removed, 0),
      });
      return { ...event, output: { ...event.output, details: { ...event.output.details, ...details } } };
    }),
  );
}

/** What the protocol has no field for: it is part of the first prompt. */
function preambleOf(instructions: string, { system, appendSystem }: AgentSettings): string {
  return [system, appendSystem, instructions]
    .filter((part) => part !== undefined && part !== '')
    .join('\n\n');
}

function optionOf(session: JsonObject, category: string): JsonObject | undefined {
  return arrayOf(session.configOptions)
    .map(objectOf)
    .find((option) => option.category === category);
}

function currentValue(session: JsonObject, category: string): string | undefined {
  return stringOf(optionOf(session, category)?.currentValue) || undefined;
}

function stdioServer(
  { name, command, args, env, passEnv, cwd }: Extract<McpServerSpec, { readonly transport: 'stdio' }>,
  options: ConnectOptions,
): object {
  const passed = passEnv.flatMap((variable) => {
    const value = options.env[variable];
    return value === undefined ? [] : [{ name: variable, value }];
  });
  const own = Object.entries(env).map(([variable, value]) => ({ name: variable, value }));
  // The protocol has no working directory for servers.
  const line = `cd ${quoteWord(resolve(options.cwd, cwd ?? ''))} && exec ${[command, ...args].map(quoteWord).join(' ')}`;
  const start = cwd === undefined ? { command, args } : { command: '/bin/sh', args: ['-c', line] };
  return { name, ...start, env: [...passed, ...own] };
}

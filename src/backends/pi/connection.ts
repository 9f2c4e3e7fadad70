import { realpath } from 'node:fs/promises';
import {
  arrayOf,
  isObject,
  type JsonObject,
  messageOf,
  objectOf,
  PolypodError,
  stringOf,
  tryParse,
} from '../../base/index.ts';
import type { ClientAnswer } from '../../tools/index.ts';
import type { CompactionRequest } from '../../worker/index.ts';
import type { AgentCall, AgentEvent, AgentInput, PermissionReply } from '../agent-event.ts';
import { AgentProcess } from '../agent-process.ts';
import type { AgentConnection, AgentEnd, AgentSettings, ConnectOptions } from '../agent-program.ts';
import { toAgentCall } from './calls.ts';
import { homeOf, prepareLaunch } from './launch.ts';
import { initialState, type PiInput, type PiState, step } from './step.ts';
import { WriteDiffs } from './write-diff.ts';

/** Starts pi with the gate, opens the session and checks that the gate is active. */
export async function connectPi(options: ConnectOptions): Promise<AgentConnection> {
  const args = await prepareLaunch(options);
  const connection = new PiConnection(options);
  await connection.open(args);
  return connection;
}

class PiConnection implements AgentConnection {
  readonly #options: ConnectOptions;
  readonly #diffs = new WriteDiffs();
  readonly #requests = new Map<string, (response: JsonObject) => void>();
  #settings: AgentSettings;
  #state: PiState;
  #process: AgentProcess | undefined;
  #end: AgentEnd | undefined;
  #isOpen = false;
  #onStartProblem: (problem: string) => void = () => {};
  #emitted: Promise<void> = Promise.resolve();
  #abortTimer: NodeJS.Timeout | undefined;
  #invalidLines = 0;
  #requestCount = 0;

  constructor(options: ConnectOptions) {
    this.#options = options;
    this.#settings = options.settings;
    const { cwd, env, settings } = options;
    this.#state = initialState({ cwd, home: homeOf(env) }, settings);
  }

  async open(args: readonly string[]): Promise<void> {
    const { command, cwd, env, record, signal } = this.#options;
    const failed = new Promise<string>((settle) => {
      this.#onStartProblem = settle;
    });
    const timer = setTimeout(
      () => this.#onStartProblem(`it did not open a session within ${START_MS / 1_000} s`),
      START_MS,
    );
    try {
      this.#process = await AgentProcess.start({
        command,
        args,
        cwd,
        env,
        record,
        signal,
        onLines: (lines) => this.#read(lines),
        onEnd: (end) => this.#ended(end),
      });
      const result = await Promise.race([this.#request({ type: 'get_state' }, START_MS), failed]);
      if (typeof result === 'string') throw await this.#startError(result);
      // The gate reports before pi reads its first command.
      const problem = await this.#gateProblem();
      if (problem !== undefined) throw await this.#startError(problem);
      this.#isOpen = true;
      await this.#emit([sessionEvent(result)]);
    } catch (thrown) {
      await this.close();
      throw thrown;
    } finally {
      clearTimeout(timer);
    }
  }

  prompt(input: AgentInput): void {
    this.#take({ type: 'prompt', input });
  }

  steer(input: AgentInput): void {
    this.#take({ type: 'steer', input });
  }

  changeCall({ callId, name, tool }: AgentCall, args: string): AgentCall {
    const call = { callId, name, input: objectOf(tryParse(args)), isBuiltin: tool !== undefined };
    return toAgentCall(call, this.#state.directories);
  }

  cancel(): void {
    this.#take({ type: 'cancel' });
    if (this.#state.turn === undefined || this.#abortTimer !== undefined) return;
    // A tool of an extension may ignore the cancellation.
    this.#abortTimer = setTimeout(
      () =>
        this.#process?.fail(`it did not end the turn within ${ABORT_MS / 1_000} s after it was cancelled`),
      ABORT_MS,
    );
  }

  answer(requestId: string, reply: PermissionReply): void {
    const request = this.#state.requests.get(requestId);
    if (request?.type === 'call' && reply.decision === 'allow' && reply.arguments !== undefined)
      this.#diffs.setArguments(request.callId, reply.arguments);
    this.#take({ type: 'answer', requestId, reply });
  }

  reply(requestId: string, answer: ClientAnswer): void {
    this.#take({ type: 'reply', requestId, answer });
  }

  compact({ instructions }: CompactionRequest): void {
    this.#take({ type: 'compact', instructions });
  }

  async configure(settings: AgentSettings): Promise<void> {
    const before = this.#settings;
    const fixed = FIXED.find((name) => JSON.stringify(before[name]) !== JSON.stringify(settings[name]));
    if (fixed !== undefined)
      throw new PolypodError(
        'conflict',
        `pi cannot change "${fixed}" of an open session. Start a new session with it.`,
      );
    if (settings.model !== undefined && settings.model !== before.model) await this.#setModel(settings.model);
    if (settings.thinking !== undefined && settings.thinking !== before.thinking)
      await this.#request({ type: 'set_thinking_level', level: settings.thinking });
    this.#settings = settings;
    this.#state = { ...this.#state, bounds: settings };
  }

  async close(): Promise<void> {
    clearTimeout(this.#abortTimer);
    await this.#process?.close();
    this.#end ??= { message: 'it was closed', stderr: '' };
    this.#failRequests(this.#end);
  }

  async #setModel(name: string): Promise<void> {
    const { models } = await this.#request({ type: 'get_available_models' });
    const named = arrayOf(models).map((model) => {
      const { provider, id } = objectOf(model);
      return { provider: stringOf(provider), modelId: stringOf(id) };
    });
    const chosen =
      named.find(({ provider, modelId }) => `${provider}/${modelId}` === name) ??
      named.find(({ modelId }) => modelId === name);
    if (chosen === undefined)
      throw new PolypodError('not-found', `pi has no model "${name}". "pi --list-models" lists them.`);
    await this.#request({ type: 'set_model', ...chosen });
  }

  /** The reason why the gate cannot be trusted; undefined if it is active. */
  async #gateProblem(): Promise<string | undefined> {
    const { gate } = this.#state;
    const { cwd, trustProject } = this.#options;
    if (gate === undefined) return 'its extension for approvals is not active';
    if (gate.isTrusted && !trustProject)
      return 'it trusts the project although it was started with --no-approve';
    const [actual, expected] = await Promise.all([gate.cwd, cwd].map(realOf));
    return actual === expected
      ? undefined
      : `its session belongs to the directory ${gate.cwd}, not to ${cwd}`;
  }

  async #startError(problem: string): Promise<PolypodError> {
    await this.#process?.close();
    const stderr = this.#process?.stderr ?? '';
    return new PolypodError(
      'unreachable',
      `pi could not be started: ${problem}.${stderr === '' ? '' : ` It wrote:\n${stderr}`}`,
    );
  }

  #ended(end: AgentEnd): void {
    clearTimeout(this.#abortTimer);
    this.#end = end;
    if (this.#isOpen) this.#options.onEnd(end);
    else this.#onStartProblem(end.message);
    this.#failRequests(end);
  }

  async #read(lines: readonly string[]): Promise<void> {
    const events: AgentEvent[] = [];
    for (const line of lines) {
      const frame = tryParse(line);
      if (isObject(frame)) events.push(...this.#readFrame(frame));
      else if (line.trim() !== '') this.#countInvalid();
    }
    await this.#emit(events);
  }

  #readFrame(frame: JsonObject): readonly AgentEvent[] {
    if (frame.type === 'response') this.#requests.get(stringOf(frame.id))?.(frame);
    const events = this.#apply({ type: 'frame', frame });
    if (this.#state.turn === undefined) {
      clearTimeout(this.#abortTimer);
      this.#abortTimer = undefined;
    }
    return events;
  }

  #countInvalid(): void {
    this.#invalidLines += 1;
    if (this.#invalidLines > MAX_INVALID_LINES)
      this.#process?.fail(`it wrote more than ${MAX_INVALID_LINES} lines that are not JSON objects`);
  }

  #take(input: PiInput): void {
    const events = this.#apply(input);
    if (events.length > 0) void this.#emit(events);
  }

  #apply(input: PiInput): readonly AgentEvent[] {
    const { state, events, send } = step(this.#state, input);
    this.#state = state;
    for (const message of send) this.#process?.send(message);
    return events;
  }

  /** Events are delivered in order, those of our own actions between those of two reads. */
  async #emit(events: readonly AgentEvent[]): Promise<void> {
    if (events.length === 0) return this.#emitted;
    this.#emitted = this.#emitted.then(async () => {
      try {
        await this.#options.onEvents(await this.#diffs.add(events));
      } catch (thrown) {
        this.#process?.fail(`its events could not be handled: ${messageOf(thrown)}`);
      }
    });
    return this.#emitted;
  }

  /** Sends a command and returns the data of its response. Rejects if pi refuses it, does not answer in time, or ends. */
  async #request(command: JsonObject, limitMs = REQUEST_MS): Promise<JsonObject> {
    this.#requestCount += 1;
    const id = `request-${this.#requestCount}`;
    const type = stringOf(command.type);
    try {
      return await new Promise<JsonObject>((settle, reject) => {
        const refuse = (reason: string): void =>
          reject(new PolypodError('unreachable', `pi did not perform ${type}: ${reason}`));
        const timer = setTimeout(refuse, limitMs, `it did not answer within ${limitMs / 1_000} s`);
        this.#requests.set(id, ({ success, error, data }) => {
          clearTimeout(timer);
          if (success === true) settle(objectOf(data));
          else refuse(stringOf(error));
        });
        if (this.#end === undefined) this.#process?.send({ id, ...command });
        else this.#failRequests(this.#end);
      });
    } finally {
      this.#requests.delete(id);
    }
  }

  #failRequests({ message }: AgentEnd): void {
    for (const respond of this.#requests.values()) respond({ success: false, error: message });
  }
}

async function realOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    return path;
  }
}

/** The id is the file of the session: pi finds a session by its own id only in the directory of its project. */
function sessionEvent({ sessionFile, model }: JsonObject): AgentEvent {
  const { id, provider } = objectOf(model);
  return {
    type: 'session',
    sessionId: stringOf(sessionFile),
    ...(stringOf(id) === '' ? {} : { model: `${stringOf(provider)}/${stringOf(id)}` }),
  };
}

/** Settings that pi reads only when it starts. */
const FIXED = ['system', 'appendSystem', 'allowedTools', 'disallowedTools'] as const;
const START_MS = 60_000;
const REQUEST_MS = 30_000;
const ABORT_MS = 30_000;
const MAX_INVALID_LINES = 1_000;

import { realpath } from 'node:fs/promises';
import {
  type JsonObject,
  messageOf,
  objectOf,
  PolypodError,
  settlesWithin,
  stringOf,
} from '../../base/index.ts';
import type { ClientAnswer } from '../../tools/index.ts';
import type { AgentEvent, AgentInput, PermissionReply } from '../agent-event.ts';
import type {
  AgentConnection,
  AgentEnd,
  AgentSettings,
  ConnectOptions,
  SessionStart,
} from '../agent-program.ts';
import { requestFailure } from './failures.ts';
import { projectInstructions } from './instructions.ts';
import { type OpenRequest, permissionResult, questionResult } from './requests.ts';
import { CodexServer } from './rpc.ts';
import { policyProblem, threadParams, turnParams } from './settings.ts';
import { type CodexState, hasRunning, initialState, step, STEERING, withoutRequest } from './step.ts';
import { newestSummary } from './summary.ts';

/** Starts Codex and opens a thread. `args` are added to those of the program, for the probe. */
export async function connect(
  options: ConnectOptions,
  args: readonly string[] = [],
): Promise<AgentConnection> {
  const connection = new CodexConnection(options, args);
  await connection.open();
  return connection;
}

class CodexConnection implements AgentConnection {
  readonly #options: ConnectOptions;
  readonly #args: readonly string[];
  #settings: AgentSettings;
  #server: CodexServer | undefined;
  /** Counts the processes: frames of an earlier one are ignored. */
  #generation = 0;
  #state: CodexState;
  /** The file in which Codex keeps the thread. */
  #path = '';
  #isOpen = false;
  #isClosed = false;
  /** Settles when a thread is open, after a restart too. */
  #ready: Promise<void> = Promise.resolve();
  #interruptedTurn: string | undefined;
  #cancelTimer: NodeJS.Timeout | undefined;
  /** Steering messages that could not become part of the turn. */
  #undelivered: AgentInput[] = [];
  /** Steering messages that wait for the start of the turn. */
  #early: AgentInput[] = [];
  #messages = 0;

  constructor(options: ConnectOptions, args: readonly string[]) {
    this.#options = options;
    this.#args = args;
    this.#settings = options.settings;
    this.#state = initialState('', options.cwd);
  }

  async open(): Promise<void> {
    const opening = this.#open(this.#options.start);
    const isInTime = await settlesWithin(
      opening.catch(() => {}),
      START_MS,
    );
    try {
      if (!isInTime)
        throw new PolypodError('unreachable', `Codex did not start in ${START_MS / 1_000} seconds`);
      await opening;
    } catch (thrown) {
      opening.catch(() => {});
      const stderr = this.#server?.stderr ?? '';
      this.#isClosed = true;
      await this.#server?.close();
      const message = messageOf(thrown);
      const note = stderr === '' || message.includes(stderr) ? '' : `\n${stderr}`;
      throw new PolypodError('unreachable', `${message}${note}`, { cause: thrown });
    }
    this.#isOpen = true;
  }

  prompt = (input: AgentInput): void => {
    this.#state = { ...this.#state, isPrompted: true };
    void this.#startTurn(input, `polypod-prompt-${this.#nextMessage()}`);
  };

  steer = (input: AgentInput): void => {
    const { turnId, isPrompted } = this.#state;
    if (turnId !== undefined) void this.#sendSteering(input, turnId);
    else if (isPrompted) this.#early.push(input);
    else void this.#startTurn(input, `${STEERING}${this.#nextMessage()}`);
  };

  cancel = (): void => {
    if (!this.#state.isPrompted || this.#state.isCancelling) return;
    this.#state = { ...this.#state, isCancelling: true };
    this.#undelivered = [];
    this.#early = [];
    this.#interrupt();
    this.#cancelTimer = setTimeout(() => this.#endLateTurn(), CANCEL_MS);
  };

  answer = (requestId: string, reply: PermissionReply): void => {
    const open = this.#take(requestId);
    if (open !== undefined) void this.#answer(open, reply);
  };

  reply = (requestId: string, answer: ClientAnswer): void => {
    const open = this.#take(requestId);
    if (open !== undefined) this.#server?.send({ id: open.id, result: questionResult(open, answer) });
  };

  configure = async (settings: AgentSettings): Promise<void> => {
    const { system, appendSystem } = this.#settings;
    if (settings.system !== system || settings.appendSystem !== appendSystem)
      throw new PolypodError(
        'bad-request',
        'Codex reads the system prompt only when a session starts. Start a new session to change it.',
      );
    this.#settings = settings;
  };

  compact = (): void => {
    this.#state = { ...this.#state, isPrompted: true };
    void this.#run('thread/compact/start', { threadId: this.#state.threadId });
  };

  close = async (): Promise<void> => {
    this.#isClosed = true;
    clearTimeout(this.#cancelTimer);
    await this.#ready.catch(() => {});
    await this.#server?.close();
  };

  async #open(start: SessionStart): Promise<void> {
    const { cwd, trustProject, mcpServers } = this.#options;
    this.#generation += 1;
    const generation = this.#generation;
    const server = await CodexServer.start({
      ...this.#options,
      args: this.#args,
      onFrames: (frames) => this.#read(generation, frames),
      onEnd: (end) => this.#ended(generation, end),
    });
    this.#server = server;
    // Closed while it started.
    if (this.#isClosed) {
      await server.close();
      return;
    }
    const { config } = await server.request('config/read', {});
    const params = threadParams({
      cwd,
      realCwd: await realpath(cwd),
      trustProject,
      settings: this.#settings,
      mcpServers,
      instructions: trustProject ? undefined : await projectInstructions(cwd),
      webSearch: objectOf(config).web_search,
    });
    const opened = await server.request(...openRequest(start, params));
    const problem = policyProblem(opened);
    if (problem !== undefined) throw new PolypodError('denied', `Codex cannot be used: ${problem}`);
    const { id, path } = objectOf(opened.thread);
    const { isPrompted, isCancelling, totalTokens } = this.#state;
    this.#path = stringOf(path);
    this.#state = { ...initialState(stringOf(id), cwd), isPrompted, isCancelling, totalTokens };
    const model = stringOf(opened.model);
    await this.#emit([{ type: 'session', sessionId: stringOf(id), ...(model === '' ? {} : { model }) }]);
  }

  #ended(generation: number, end: AgentEnd): void {
    if (generation === this.#generation && this.#isOpen) this.#reportEnd(end);
  }

  #reportEnd(end: AgentEnd): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#cancelTimer);
    this.#options.onEnd(end);
  }

  async #emit(events: readonly AgentEvent[]): Promise<void> {
    if (events.length > 0 && !this.#isClosed) await this.#options.onEvents(events);
  }

  async #read(generation: number, frames: readonly JsonObject[]): Promise<void> {
    const events: AgentEvent[] = [];
    for (const frame of frames) {
      if (generation !== this.#generation) break;
      const wasCancelling = this.#state.isCancelling;
      const result = step(this.#state, frame);
      this.#state = result.state;
      for (const reply of result.replies) this.#server?.send(reply);
      const last = result.events.at(-1);
      if (last?.type === 'turn-end' && this.#holdsTurnEnd(wasCancelling, last))
        events.push(...result.events.slice(0, -1));
      else events.push(...result.events);
    }
    if (this.#state.isCancelling) this.#interrupt();
    this.#flushEarly();
    await this.#emit(await this.#withSummaries(events));
  }

  /** Returns whether the turn is not over for our caller yet. */
  #holdsTurnEnd(wasCancelling: boolean, event: AgentEvent): boolean {
    clearTimeout(this.#cancelTimer);
    this.#interruptedTurn = undefined;
    if (wasCancelling) {
      // Codex leaves the commands and the sub-agents of a cancelled turn running.
      const isRunning = hasRunning(this.#state);
      if (isRunning) this.#restart(event);
      return isRunning;
    }
    this.#undelivered.push(...this.#early.splice(0));
    const messages = this.#undelivered.splice(0);
    if (messages.length === 0) return false;
    this.#state = { ...this.#state, isPrompted: true };
    void this.#startTurn(messages.flat(), `${STEERING}${this.#nextMessage()}`);
    return true;
  }

  async #withSummaries(events: readonly AgentEvent[]): Promise<readonly AgentEvent[]> {
    if (!events.some(({ type }) => type === 'compacted')) return events;
    const summary =
      (await newestSummary(this.#path)) ??
      'Codex has summarized the conversation. It does not show the summary.';
    return events.map((event) => (event.type === 'compacted' ? { ...event, summary } : event));
  }

  async #startTurn(input: AgentInput, clientUserMessageId: string): Promise<void> {
    await this.#ready.catch(() => {});
    const { threadId } = this.#state;
    const settings = turnParams(this.#settings, this.#options.cwd);
    await this.#run('turn/start', {
      threadId,
      clientUserMessageId,
      input: input.map(inputPart),
      ...settings,
    });
  }

  /** Sends a request that starts a turn. */
  async #run(method: string, params: JsonObject): Promise<void> {
    const generation = this.#generation;
    try {
      await this.#ready;
      await this.#server?.request(method, params);
    } catch (thrown) {
      // If the program has ended, the end says so.
      if (generation !== this.#generation || this.#isClosed || !this.#state.isPrompted) return;
      this.#state = { ...this.#state, isPrompted: false, isCancelling: false };
      const failure = requestFailure(messageOf(thrown));
      await this.#emit([{ type: 'turn-end', outcome: { status: 'failed', failure } }]);
    }
  }

  async #sendSteering(input: AgentInput, expectedTurnId: string): Promise<void> {
    const { threadId } = this.#state;
    const clientUserMessageId = `${STEERING}${this.#nextMessage()}`;
    try {
      await this.#server?.request('turn/steer', {
        threadId,
        expectedTurnId,
        clientUserMessageId,
        input: input.map(inputPart),
      });
    } catch {
      // The turn is over, or is one that cannot be steered, such as a summary.
      if (this.#state.isCancelling || this.#isClosed) return;
      if (this.#state.isPrompted) this.#undelivered.push(input);
      else void this.#startTurn(input, clientUserMessageId);
    }
  }

  #flushEarly(): void {
    const { turnId } = this.#state;
    if (turnId === undefined) return;
    for (const input of this.#early.splice(0)) void this.#sendSteering(input, turnId);
  }

  /** Without a running turn, Codex would never answer. */
  #interrupt(): void {
    const { threadId, turnId } = this.#state;
    if (turnId === undefined || turnId === this.#interruptedTurn) return;
    this.#interruptedTurn = turnId;
    // The end of the turn is the answer that counts.
    this.#server?.request('turn/interrupt', { threadId, turnId }, CANCEL_MS).catch(() => {});
  }

  /** Codex has not ended a cancelled turn: its process is ended. */
  #endLateTurn(): void {
    const { threadId, turnId: id, isPrompted } = this.#state;
    if (!isPrompted || this.#isClosed) return;
    const frame = { method: 'turn/completed', params: { threadId, turn: { id, status: 'interrupted' } } };
    const { state, events } = step(this.#state, frame);
    this.#state = state;
    this.#interruptedTurn = undefined;
    this.#restart(...events);
  }

  /** Ends the process with all commands, reports the events, and continues the thread in a new process. */
  #restart(...events: readonly AgentEvent[]): void {
    const old = this.#server;
    this.#generation += 1;
    this.#ready = (async () => {
      await old?.close(0);
      await this.#emit(events);
      if (!this.#isClosed) await this.#open({ type: 'resume', sessionId: this.#state.threadId });
    })();
    this.#ready.catch((thrown: unknown) => {
      const stderr = this.#server?.stderr ?? '';
      void this.#server?.close();
      const message = `it could not continue its session after a cancelled turn: ${messageOf(thrown)}`;
      this.#reportEnd({ message, stderr });
    });
  }

  #take(requestId: string): OpenRequest | undefined {
    const open = this.#state.requests.get(requestId);
    if (open !== undefined) this.#state = withoutRequest(this.#state, requestId);
    return open;
  }

  async #answer(open: OpenRequest, reply: PermissionReply): Promise<void> {
    const server = this.#server;
    if (reply.decision === 'deny') await this.#sendReason(open, reply.reason);
    server?.send({ id: open.id, result: permissionResult(open, reply) });
  }

  /**
   * An answer has no text for the model. The reason is sent as a message before the answer, so that the next request to the model
   * contains both.
   */
  async #sendReason({ params, callId = '' }: OpenRequest, reason: string): Promise<void> {
    const { threadId, turnId: expectedTurnId } = params;
    if (reason === '' || typeof expectedTurnId !== 'string') return;
    const title = this.#state.calls.get(callId)?.call.title;
    const text = `Permission for ${title === undefined ? 'the call' : `\`${title}\``} was denied: ${reason}`;
    const message = {
      threadId,
      expectedTurnId,
      clientUserMessageId: `polypod-denial-${this.#nextMessage()}`,
      input: [inputPart({ type: 'text', text })],
    };
    await this.#server?.request('turn/steer', message, REASON_MS).catch(() => {});
  }

  #nextMessage(): number {
    this.#messages += 1;
    return this.#messages;
  }
}

function openRequest(start: SessionStart, params: JsonObject): [method: string, params: JsonObject] {
  if (start.type === 'new') return ['thread/start', params];
  const { sessionId: threadId } = start;
  return [`thread/${start.type}`, { ...params, threadId, excludeTurns: true }];
}

function inputPart(part: AgentInput[number]): JsonObject {
  if (part.type === 'text') return { type: 'text', text: part.text, text_elements: [] };
  return { type: 'image', url: `data:${part.mediaType};base64,${part.data}` };
}

const START_MS = 60_000;
const CANCEL_MS = 5_000;
const REASON_MS = 3_000;

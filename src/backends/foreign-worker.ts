import { derivedAbort, messageOf, onAbort, withoutUndefined, WrongStateError } from '../base/index.ts';
import { type Content, type Cost, type Item, textContent, type Usage } from '../llm/index.ts';
import { type Access, oneLine, type ToolContext } from '../tools/index.ts';
import {
  boundReached,
  type CallOutcome,
  type CompactionRequest,
  type CompactionResult,
  Conversation,
  type InputOrigin,
  type Message,
  NO_TOTALS,
  type RunEvent,
  type RunOutcome,
  subtractTotals,
  type Totals,
} from '../worker/index.ts';
import type {
  AgentCall,
  AgentEvent,
  AgentInput,
  AgentOutcome,
  PermissionReply,
  PermissionRequest,
} from './agent-event.ts';
import type { AgentConnection, AgentEnd } from './agent-program.ts';
import type { AgentSession, SessionListener } from './agent-session.ts';
import type { Backend, BackendOptions } from './backend.ts';
import { CurrentTurn } from './current-turn.ts';
import { withConversation } from './handover.ts';
import { permissionAnswer, type PermissionDecision } from './permission-answer.ts';
import { agentServices } from './services.ts';
import { SteeringInbox } from './steering-inbox.ts';
import { eventSize, TurnBuilder } from './turn-builder.ts';

export interface ForeignWorkerLimits {
  /** How long to wait for the end of a cancelled turn before the program is ended. */
  readonly cancelGraceMs: number;
  /** How long the agent may report nothing while it neither runs a call nor waits for an answer. */
  readonly idleMs: number;
}

export const DEFAULT_LIMITS: ForeignWorkerLimits = { cancelGraceMs: 10_000, idleMs: 600_000 };

/** Runs the conversation of a pod with another agent: sends its prompts, publishes what it does, and decides what it may do. */
export class ForeignWorker implements Backend {
  readonly inbox: SteeringInbox;
  readonly #session: AgentSession;
  readonly #options: BackendOptions;
  readonly #limits: ForeignWorkerLimits;
  readonly #conversation: Conversation;
  readonly #builder: TurnBuilder;
  readonly #listener: SessionListener;
  /** Permission requests and questions of the agent that are not answered. */
  readonly #requests = new Map<string, AbortController>();
  /** Calls that were approved, but not run because the agent ended: they are not asked about again. */
  readonly #approvedBefore = new Set<string>();
  /** What the allowed calls of this turn do, for the files and commands that the agent asks its client for. */
  readonly #granted = new Map<string, ToolContext['resolve']>();
  /** Output of the user's shell commands, for the next prompt. */
  #notes: Content[] = [];
  #contextTokens: number | undefined;
  #running = false;
  #turn: CurrentTurn | undefined;
  /** Requests about calls that are not part of the conversation yet. */
  #waiting: PermissionRequest[] = [];
  /** Results of the calls of a paused turn. */
  #finished: ReadonlyMap<string, CallOutcome>;
  /** The totals at the start of the run. */
  #usedBefore = NO_TOTALS;
  #unwritten = 0;

  constructor(session: AgentSession, options: BackendOptions, limits = DEFAULT_LIMITS) {
    this.#session = session;
    this.#options = options;
    this.#limits = limits;
    this.#conversation = new Conversation(options.items ?? [], options.totals ?? NO_TOTALS, options.measured);
    this.#finished = options.finished ?? new Map();
    const hasTotalCost = session.program.capabilities.totalCost === true;
    this.#builder = new TurnBuilder({ conversation: this.#conversation, hasTotalCost });
    this.inbox = new SteeringInbox(() => this.#steer());
    this.#listener = {
      onEvents: (events) => this.#receive(events),
      onEnd: (end) => this.#turn?.endWithProgram(this.#endedOutcome(end)),
      services: agentServices({
        ...options,
        granted: (access) => this.#granted.get(grantKey(access)),
      }),
    };
  }

  get totals(): Totals {
    return this.#conversation.totals;
  }

  get contextTokens(): number {
    return this.#contextTokens ?? this.#conversation.contextTokens;
  }

  count(usage: Usage | undefined, cost: Cost | undefined): void {
    this.#conversation.count(usage, cost);
  }

  async run(prompt: Message, signal: AbortSignal): Promise<RunOutcome> {
    return this.#emitRun(signal, (stop) => {
      this.#closeCalls();
      const before = this.#conversation.items;
      this.#add('prompt', prompt);
      return this.#turns(prompt, before, stop);
    });
  }

  /**
   * Continues a paused run. The agent does not know the calls that were waiting, so it is told what was decided; a call that was
   * approved is not asked about again if the agent repeats it.
   */
  async resume(signal: AbortSignal): Promise<RunOutcome> {
    return this.#emitRun(signal, async (stop) => {
      const decided: string[] = [];
      for (const call of this.#conversation.openCalls()) {
        const { callId, name, arguments: args } = call;
        const access = [{ type: 'foreign', readOnly: false }] as const;
        const asked = { callId, name, arguments: args, title: name, access };
        const answer = await permissionAnswer(asked, this.#approval(asked), stop);
        if (stop.aborted) break;
        if (answer.decision === 'pause') return { status: 'paused', callIds: [callId] };
        if (answer.decision === 'allow') this.#approvedBefore.add(callKey(name, answer.arguments ?? args));
        decided.push(
          answer.decision === 'allow'
            ? `The user approved this call, but it was not run: ${name} ${answer.arguments ?? args}. Make it again now.`
            : `The user denied this call: ${name} ${args}. ${answer.reason}`,
        );
      }
      this.#closeCalls();
      if (stop.aborted) return { status: 'cancelled' };
      const before = this.#conversation.items;
      const prompt = textContent(decided.length === 0 ? CONTINUE : `${decided.join('\n')}\n${CONTINUE}`);
      this.#add('continuation', prompt);
      return this.#turns(prompt, before, stop);
    });
  }

  /** Agents cannot be paused between their calls, so the turn is cancelled; `resume` asks the agent to continue. */
  pause(): void {
    this.#turn?.pause();
  }

  async halt(): Promise<void> {
    this.#turn?.ignoreEnd();
    await this.#session.end();
  }

  abandon(): void {
    if (this.#running) throw runActive();
    this.#closeCalls();
  }

  addInput(origin: InputOrigin, item: Item): void {
    if (this.#running) throw runActive();
    this.#conversation.add(item);
    if (item.type === 'message') this.#notes.push(...item.content);
    this.#options.emit([{ type: 'input', origin, item }]);
  }

  async compact(request: CompactionRequest, signal: AbortSignal): Promise<CompactionResult> {
    const { title } = this.#session.program;
    return this.#exclusively(async () => {
      const turn = new CurrentTurn();
      this.#turn = turn;
      const before = this.#conversation.items;
      const forget = onAbort(signal, () => turn.cancel());
      try {
        const opened = await Promise.race([this.#open(), turn.ended]);
        if ('status' in opened) return { status: 'cancelled' };
        const { connection, isContinued } = opened;
        if (connection.compact === undefined || !isContinued)
          return this.#compactionFailed(`${title} cannot summarize this conversation now`);
        connection.compact(request);
        this.#begin(turn, connection);
        const outcome = await turn.ended;
        if (turn.isLost) await this.#session.end();
        this.#emitAll(this.#builder.finish(outcome));
        if (outcome.status === 'cancelled') return { status: 'cancelled' };
        if (outcome.status === 'failed') return this.#compactionFailed(outcome.failure.message);
        // The agent's own report of the summary has been published.
        if (this.#conversation.items !== before) return { status: 'skipped' };
        return this.#compactionFailed(`${title} has not summarized the conversation`);
      } catch (thrown) {
        return this.#compactionFailed(messageOf(thrown));
      } finally {
        forget();
        turn.close();
        this.#turn = undefined;
      }
    });
  }

  #compactionFailed(message: string): CompactionResult {
    const result = { status: 'failed', failure: { kind: 'provider', message } } as const;
    this.#emitAll([
      { type: 'compaction-start', reason: 'manual' },
      { type: 'compaction-end', reason: 'manual', result },
    ]);
    return result;
  }

  async #exclusively<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running) throw runActive();
    this.#running = true;
    try {
      return await work();
    } finally {
      this.#running = false;
    }
  }

  async #emitRun(signal: AbortSignal, work: (stop: AbortSignal) => Promise<RunOutcome>): Promise<RunOutcome> {
    return this.#exclusively(async () => {
      const { controller, release } = derivedAbort(signal);
      const runId = this.#options.newRunId?.() ?? crypto.randomUUID();
      const before = this.totals;
      this.#usedBefore = before;
      this.#emitAll([{ type: 'run-start', runId }]);
      const outcome = await work(controller.signal).finally(release);
      this.#emitAll([{ type: 'run-end', runId, outcome, totals: subtractTotals(this.totals, before) }]);
      return outcome;
    });
  }

  /** Prompts the agent until no message is left. `before` is the conversation before the prompt. */
  async #turns(prompt: AgentInput, before: readonly Item[], signal: AbortSignal): Promise<RunOutcome> {
    let [input, known] = [prompt, before];
    for (;;) {
      const outcome = await this.#runTurn(input, known, signal);
      if (outcome.status !== 'finished') return outcome;
      known = this.#conversation.items;
      const steering = this.inbox.takeSteering();
      const waiting = steering.length > 0 ? steering : this.inbox.takeFollowUps();
      if (waiting.length === 0) return outcome;
      for (const message of waiting) this.#add(steering.length > 0 ? 'steer' : 'follow-up', message);
      input = waiting.flat();
    }
  }

  async #runTurn(
    input: AgentInput,
    before: readonly Item[],
    signal: AbortSignal,
    isRepeated = false,
  ): Promise<RunOutcome> {
    if (signal.aborted) return { status: 'cancelled' };
    const turn = new CurrentTurn();
    this.#turn = turn;
    const forget = onAbort(signal, () => turn.cancel());
    try {
      const opened = await Promise.race([this.#open(), turn.ended]);
      if ('status' in opened) return this.#outcomeOf(turn, opened);
      const { connection, isContinued } = opened;
      const prompt = [...this.#notes, ...input];
      connection.prompt(isContinued ? prompt : withConversation(before, prompt));
      this.#begin(turn, connection);
      this.#steer();
      const outcome = await turn.ended;
      if (!turn.isUnheard) this.#notes = [];
      if (turn.isLost) await this.#session.end();
      // The program had ended meanwhile, and is started again.
      if (turn.isUnheard && !isRepeated) return await this.#runTurn(input, before, signal, true);
      return this.#outcomeOf(turn, outcome);
    } catch (thrown) {
      return this.#outcomeOf(turn, failed(messageOf(thrown)));
    } finally {
      forget();
      turn.close();
      this.#turn = undefined;
      this.#granted.clear();
    }
  }

  #begin(turn: CurrentTurn, connection: AgentConnection): void {
    turn.begin({
      connection,
      graceMs: this.#limits.cancelGraceMs,
      idleMs: this.#limits.idleMs,
      isBusy: () => this.#builder.isRunningCall || this.#requests.size > 0,
    });
  }

  /** Ends what the turn has left open. The calls of a paused run that wait for a person stay open. */
  #outcomeOf(turn: CurrentTurn, outcome: AgentOutcome): RunOutcome {
    const callIds = turn.isPaused ? this.#builder.waitingCalls : [];
    if (callIds.length > 0) {
      this.#requests.clear();
      const { events, finished } = this.#builder.suspend();
      this.#finished = finished;
      this.#emitAll(events);
      return { status: 'paused', callIds };
    }
    for (const controller of this.#requests.values()) controller.abort();
    this.#requests.clear();
    this.#waiting = [];
    this.#emitAll(this.#builder.finish(turn.isPaused ? { status: 'cancelled' } : outcome));
    if (turn.isPaused) return { status: 'paused', callIds };
    return turn.limit ?? outcome;
  }

  #open(): ReturnType<AgentSession['open']> {
    const { session, agentSettings } = this.#options;
    return this.#session.open(session(), agentSettings(), this.#listener);
  }

  async #receive(events: readonly AgentEvent[]): Promise<void> {
    this.#turn?.touch();
    const out: RunEvent[] = [];
    for (const event of callsFirst(joinedTexts(events.map(withPrintableCall)))) {
      switch (event.type) {
        case 'session':
          this.#recordSession(event.sessionId);
          break;
        case 'permission':
          out.push(...this.#request(event.request));
          break;
        case 'permission-withdrawn':
        case 'question-withdrawn':
          this.#withdraw(event.requestId);
          break;
        case 'question':
          this.#question(event).catch((thrown: unknown) => this.#turn?.lose(messageOf(thrown)));
          break;
        case 'todos':
          this.#emitAll(out.splice(0));
          this.#options.setTodos(event.items);
          break;
        case 'context':
          this.#contextTokens = event.tokens;
          break;
        case 'steered':
        case 'turn-start':
          break;
        case 'turn-end':
          this.#emitAll(out.splice(0));
          this.#turn?.end(event.outcome);
          break;
        default:
          // Between two turns there is nothing that an event could belong to.
          if (this.#turn !== undefined) out.push(...this.#builder.take(event));
      }
    }
    this.#emitAll(out);
    if (out.some(({ type }) => type === 'turn-start')) this.#checkLimit();
    this.#askWaiting();
    const { excess } = this.#builder;
    if (excess !== undefined) this.#turn?.lose(`${this.#session.program.title} was stopped: ${excess}`);
    this.#unwritten += events.reduce((sum, event) => sum + EVENT_CHARACTERS + eventSize(event), 0);
    if (this.#unwritten < CHARACTERS_AHEAD) return;
    this.#unwritten = 0;
    await this.#options.whenDurable?.();
  }

  #recordSession(sessionId: string): void {
    const recorded = this.#options.session();
    if (recorded?.id !== sessionId) this.#options.recordSession(sessionId);
  }

  /** A limit of the run ends it before the next turn. */
  #checkLimit(): void {
    const limit = boundReached(this.#options.bounds?.() ?? {}, subtractTotals(this.totals, this.#usedBefore));
    if (limit !== undefined) this.#turn?.stopAt(limit);
  }

  /** Reports the call if the agent has not done so. The question follows when the call is part of the conversation. */
  #request(request: PermissionRequest): readonly RunEvent[] {
    const { requestId, call } = request;
    if (this.#requests.size >= MAX_REQUESTS) {
      const reason = `More than ${MAX_REQUESTS} calls wait for approval.`;
      this.#turn?.connection?.answer(requestId, { decision: 'deny', reason });
    } else {
      this.#requests.set(requestId, new AbortController());
      this.#waiting.push(request);
    }
    if (request.parentCallId !== undefined) return [];
    return [...this.#builder.take({ type: 'call', call }), ...this.#builder.take({ type: 'answer-end' })];
  }

  #askWaiting(): void {
    const isReady = ({ parentCallId, call }: PermissionRequest): boolean =>
      parentCallId !== undefined || this.#builder.isOpen(call.callId);
    const ready = this.#waiting.filter(isReady);
    this.#waiting = this.#waiting.filter((request) => !isReady(request));
    for (const request of ready) {
      const signal = this.#requests.get(request.requestId)?.signal;
      if (signal !== undefined)
        this.#decide(request, signal).catch((thrown: unknown) => this.#turn?.lose(messageOf(thrown)));
    }
  }

  async #decide({ requestId, call, parentCallId }: PermissionRequest, signal: AbortSignal): Promise<void> {
    // Each call of a sub-agent needs its own decision, also if ids repeat.
    const asked = parentCallId === undefined ? call : { ...call, callId: `${parentCallId}/${requestId}` };
    const isRepeated = this.#approvedBefore.delete(callKey(call.name, call.arguments));
    const advice = isRepeated ? APPROVED_BEFORE : undefined;
    const answer = await permissionAnswer(asked, { ...this.#approval(asked), advice }, signal);
    const connection = this.#turn?.connection;
    if (signal.aborted || connection === undefined) return;
    if (answer.decision === 'pause') {
      this.#turn?.pause();
      return;
    }
    if (parentCallId === undefined)
      this.#emitAll(
        answer.decision === 'allow'
          ? this.#builder.startCall(call.callId, answer.arguments)
          : this.#builder.denyCall(call.callId, answer.reason),
      );
    if (answer.decision === 'allow') {
      // Nobody has seen which files a repeated call names.
      if (!isRepeated) for (const access of call.access) this.#granted.set(grantKey(access), answer.resolve);
      // The call has no effect before its start is recorded.
      await this.#options.whenDurable?.();
    }
    if (signal.aborted) return;
    this.#requests.delete(requestId);
    connection.answer(requestId, replyOf(answer));
  }

  #approval(call: AgentCall): Parameters<typeof permissionAnswer>[1] {
    const { program } = this.#session;
    const { approve } = this.#options;
    return {
      approve,
      changed: (args) => this.#turn?.connection?.changeCall?.(call, args),
      refusal: `${program.title} runs a call only as it is: approve or deny it without changes`,
    };
  }

  async #question({ requestId, question }: Extract<AgentEvent, { type: 'question' }>): Promise<void> {
    const controller = new AbortController();
    this.#requests.set(requestId, controller);
    const ask = this.#options.client()?.ask;
    // Nobody can be asked: the agent continues without an answer.
    const answer = ask === undefined ? CANCELLED : await ask(question, controller.signal);
    if (controller.signal.aborted) return;
    this.#requests.delete(requestId);
    this.#turn?.connection?.reply(requestId, answer);
  }

  #withdraw(requestId: string): void {
    this.#requests.get(requestId)?.abort();
    this.#requests.delete(requestId);
  }

  /** Sends steering messages to an agent that accepts them during a turn. The others receive them after the turn. */
  #steer(): void {
    const { connection } = this.#turn ?? {};
    if (connection?.steer === undefined) return;
    for (const message of this.inbox.takeToSend()) {
      connection.steer(message);
      this.#emitAll(this.#builder.take({ type: 'sent-message', content: message }));
    }
  }

  #endedOutcome({ message, stderr }: AgentEnd): AgentOutcome {
    const { title } = this.#session.program;
    const quoted = stderr === '' ? '' : `\n${stderr}`;
    return failed(`${title} has ended during its work: ${message}${quoted}`);
  }

  #add(origin: InputOrigin, content: readonly Content[]): void {
    const item: Item = { type: 'message', role: 'user', content };
    this.#conversation.addPrompt(item);
    this.#emitAll([{ type: 'input', origin, item }]);
  }

  #closeCalls(): void {
    const results = this.#conversation.closeCalls(this.#finished);
    this.#finished = new Map();
    if (results.length > 0) this.#emitAll([{ type: 'turn-end', turn: this.#conversation.turn, results }]);
  }

  #emitAll(events: readonly RunEvent[]): void {
    if (events.length > 0) this.#options.emit(events);
  }
}

/** Text that arrived together is one delta: clients receive it at the same time, and every event has its costs. */
function joinedTexts(events: readonly AgentEvent[]): readonly AgentEvent[] {
  if (events.length < 2) return events;
  const joined: AgentEvent[] = [];
  let pieces: string[] = [];
  for (const [index, event] of events.entries()) {
    if (event.type !== 'text' && event.type !== 'thinking') {
      joined.push(event);
      continue;
    }
    pieces.push(event.text);
    if (events[index + 1]?.type === event.type) continue;
    joined.push({ type: event.type, text: pieces.join('') });
    pieces = [];
  }
  return joined;
}

/**
 * Calls that arrive together with the first question about one of them, or directly behind the end of the answer, are parts of
 * that answer.
 */
function callsFirst(events: readonly AgentEvent[]): readonly AgentEvent[] {
  const first = events.findIndex(({ type }) => JOINED.has(type) && type !== 'call');
  if (first < 0) return events;
  let last = first;
  while (JOINED.has(events[last + 1]?.type ?? '')) last += 1;
  const together = events.slice(first, last + 1);
  const calls = together.flatMap((event): readonly AgentEvent[] => {
    if (event.type === 'call') return [event];
    if (event.type !== 'permission' || event.request.parentCallId !== undefined) return [];
    return [{ type: 'call', call: event.request.call }];
  });
  const others = together.filter(({ type }) => type !== 'call');
  return [...events.slice(0, first), ...calls, ...others, ...callsFirst(events.slice(last + 1))];
}

const JOINED = new Set<string>(['answer-end', 'call', 'call-start', 'permission']);

/** Identifies what an approved call may do through our services. */
function grantKey(access: Access): string {
  return JSON.stringify(access);
}

function replyOf(answer: Exclude<PermissionDecision, { readonly decision: 'pause' }>): PermissionReply {
  if (answer.decision === 'deny') return answer;
  return { decision: 'allow', ...withoutUndefined({ arguments: answer.arguments }) };
}

const APPROVED_BEFORE = { decision: 'allow', reason: 'the user has approved this call' } as const;

/** Names and titles of calls are shown in lists and terminals. */
function withPrintableCall(event: AgentEvent): AgentEvent {
  if (event.type === 'call') return { ...event, call: printableCall(event.call) };
  if (event.type !== 'permission') return event;
  return { ...event, request: { ...event.request, call: printableCall(event.request.call) } };
}

function printableCall(call: AgentCall): AgentCall {
  return { ...call, name: oneLine(call.name) || 'tool', title: oneLine(call.title) };
}

function callKey(name: string, args: string): string {
  return `${name} ${args}`;
}

function failed(message: string): AgentOutcome {
  return { status: 'failed', failure: { kind: 'provider', message } };
}

function runActive(): WrongStateError {
  return new WrongStateError('a run is under way: steer it, queue a follow-up, or cancel it first');
}

const CANCELLED = { action: 'cancel' } as const;

/** The prompt of a run that is continued. */
const CONTINUE = 'Continue with your work from where it was interrupted.';

/** How much may be published before what is before it is on disk. */
const CHARACTERS_AHEAD = 5_000_000;
/** The characters of an event besides those of its content. */
const EVENT_CHARACTERS = 1_000;
/** How many calls and questions can wait for an answer. */
const MAX_REQUESTS = 100;

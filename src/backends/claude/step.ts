import {
  arrayOf,
  type JsonObject,
  numberOf,
  objectOf,
  stringOf,
  withoutUndefined,
} from '../../base/index.ts';
import type { StopReason } from '../../llm/index.ts';
import type { TodoItem } from '../../tools/index.ts';
import type { CallStatus } from '../../worker/index.ts';
import type { AgentCall, AgentEvent, AgentOutcome } from '../agent-event.ts';
import { agentCall, type CallPaths } from './calls.ts';
import { apiFailure, resultFailure, retryFailure } from './failures.ts';
import { elicitationForm, questionForm } from './questions.ts';
import { changedTodos, toolOutput } from './results.ts';
import { addCounts, type Counts, usageFrom } from './usage.ts';

/** What is known about a session of Claude Code between two frames. */
export interface ClaudeState {
  readonly paths: CallPaths;
  readonly sessionId: string;
  readonly model: string;
  /** Whether a turn has started and has not ended. */
  readonly isActive: boolean;
  /** Whether Claude Code works on the main conversation: a result follows. */
  readonly isRunning: boolean;
  readonly isCancelling: boolean;
  readonly isCompacting: boolean;
  /** Messages that are not part of the conversation yet, by id. */
  readonly sent: ReadonlyMap<string, Sent>;
  /** The answer that is being received. */
  readonly answer: Answer | undefined;
  /** The last answer that was received as a stream: its later frames repeat its texts. */
  readonly streamedId: string;
  /** Calls of the main conversation without a result. */
  readonly calls: ReadonlyMap<string, OpenCall>;
  /** The calls of sub-agents without a result, with the call in which each was made. */
  readonly parents: ReadonlyMap<string, string>;
  /** The call that started each sub-agent. */
  readonly agents: ReadonlyMap<string, string>;
  /** Requests that wait for an answer. */
  readonly requests: ReadonlyMap<string, OpenRequest>;
  readonly todos: ReadonlyMap<string, TodoItem>;
  readonly failure: AgentOutcome | undefined;
  readonly window: number | undefined;
  readonly tokensBefore: number | undefined;
}

export type Sent = 'prompt' | 'steer';

interface Answer {
  readonly id: string;
  readonly counts: Counts;
  readonly stopReason: StopReason | undefined;
  readonly calls: readonly AgentCall[];
  /** Events that arrived before the end of the answer and must follow it. */
  readonly later: readonly AgentEvent[];
}

interface OpenCall {
  readonly call: AgentCall;
  readonly input: JsonObject;
  /** What a sub-agent has done in it. */
  readonly log: string;
}

/** A request of Claude Code: for permission, or for the answers to a form. */
export interface OpenRequest {
  readonly type: 'permission' | 'question' | 'elicitation';
  readonly name: string;
  readonly input: JsonObject;
}

export interface Stepped {
  readonly state: ClaudeState;
  readonly events: readonly AgentEvent[];
  /** Requests that cannot be served, to be answered with an error. */
  readonly refused: readonly { readonly requestId: string; readonly error: string }[];
}

export function initialState(paths: CallPaths): ClaudeState {
  return {
    paths,
    sessionId: '',
    model: '',
    isActive: false,
    isRunning: false,
    isCancelling: false,
    isCompacting: false,
    sent: new Map(),
    answer: undefined,
    streamedId: '',
    calls: new Map(),
    parents: new Map(),
    agents: new Map(),
    requests: new Map(),
    todos: new Map(),
    failure: undefined,
    window: undefined,
    tokensBefore: undefined,
  };
}

/** A message was sent. A prompt starts a turn. */
export function messageSent(state: ClaudeState, uuid: string, sent: Sent): ClaudeState {
  return {
    ...state,
    sent: new Map(state.sent).set(uuid, sent),
    ...(sent === 'prompt' && { isActive: true, isCancelling: false, failure: undefined }),
  };
}

/** The request to cancel was answered. A turn that had not begun in Claude Code has no result: it ends here. */
export function cancelAnswered(state: ClaudeState): Stepped {
  const next = new Step(state);
  if (state.isActive && !state.isRunning && state.sent.size === 0) next.endTurn({ status: 'cancelled' });
  return next.done();
}

/** The request is answered; undefined if it is not open. */
export function takeRequest(
  state: ClaudeState,
  requestId: string,
): { readonly state: ClaudeState; readonly request: OpenRequest } | undefined {
  const request = state.requests.get(requestId);
  return request && { state: { ...state, requests: without(state.requests, requestId) }, request };
}

/** Translates one frame. A frame that is unknown or malformed changes nothing. */
export function step(state: ClaudeState, frame: JsonObject): Stepped {
  const next = new Step(state);
  const parent = stringOf(frame.parent_tool_use_id);
  switch (frame.type) {
    case 'system':
      next.system(frame);
      break;
    case 'stream_event':
      if (parent === '') next.stream(objectOf(frame.event));
      break;
    case 'assistant':
      if (parent === '') next.assistant(frame);
      else next.subAgent(parent, frame);
      break;
    case 'user':
      if (parent === '') next.user(frame);
      else next.subAgent(parent, frame);
      break;
    case 'result':
      next.result(frame);
      break;
    case 'command_lifecycle':
      next.lifecycle(frame);
      break;
    case 'control_request':
      next.request(stringOf(frame.request_id), objectOf(frame.request));
      break;
    case 'control_cancel_request':
      next.withdraw(stringOf(frame.request_id));
      break;
    case 'conversation_reset':
      next.session(stringOf(frame.session_id), state.model);
      break;
    default:
  }
  return next.done();
}

/** Collects the changes and the events of one frame. */
class Step {
  #state: ClaudeState;
  readonly #events: AgentEvent[] = [];
  readonly #refused: { readonly requestId: string; readonly error: string }[] = [];

  constructor(state: ClaudeState) {
    this.#state = state;
  }

  done(): Stepped {
    return { state: this.#state, events: this.#events, refused: this.#refused };
  }

  system(frame: JsonObject): void {
    switch (frame.subtype) {
      case 'init':
        this.session(stringOf(frame.session_id), stringOf(frame.model));
        break;
      case 'status':
        if (frame.status === 'requesting') this.#run();
        break;
      case 'api_retry':
        this.#emit({
          type: 'retry',
          attempt: numberOf(frame.attempt) ?? 1,
          maxAttempts: numberOf(frame.max_retries) ?? 1,
          delayMs: numberOf(frame.retry_delay_ms) ?? 0,
          failure: retryFailure(frame),
        });
        break;
      case 'compact_boundary':
        this.#set({ tokensBefore: numberOf(objectOf(frame.compact_metadata).pre_tokens) ?? 0 });
        break;
      case 'task_started':
        if (frame.task_type === 'local_agent')
          this.#set({
            agents: new Map(this.#state.agents).set(stringOf(frame.task_id), stringOf(frame.tool_use_id)),
          });
        break;
      case 'task_notification':
        this.#set({ agents: without(this.#state.agents, stringOf(frame.task_id)) });
        break;
      default:
    }
  }

  session(sessionId: string, model: string): void {
    if (sessionId === '' || (sessionId === this.#state.sessionId && model === this.#state.model)) return;
    this.#set({ sessionId, model });
    this.#events.push({ type: 'session', sessionId, ...(model !== '' && { model }) });
  }

  stream(event: JsonObject): void {
    switch (event.type) {
      case 'message_start': {
        this.#run();
        this.#endAnswer();
        const message = objectOf(event.message);
        const id = stringOf(message.id);
        const counts = addCounts({}, message.usage);
        this.#set({
          streamedId: id,
          answer: { id, counts, stopReason: undefined, calls: [], later: [] },
        });
        break;
      }
      case 'content_block_delta': {
        const delta = objectOf(event.delta);
        if (delta.type === 'text_delta') this.#text('text', delta.text);
        else if (delta.type === 'thinking_delta') this.#text('thinking', delta.thinking);
        break;
      }
      case 'message_delta': {
        const { answer } = this.#state;
        if (answer === undefined) return;
        const reason = stringOf(objectOf(event.delta).stop_reason);
        this.#set({
          answer: {
            ...answer,
            counts: addCounts(answer.counts, event.usage),
            stopReason: reason === '' ? answer.stopReason : (STOP_REASONS.get(reason) ?? 'other'),
          },
        });
        break;
      }
      case 'message_stop':
        this.#endAnswer();
        break;
      default:
    }
  }

  assistant(frame: JsonObject): void {
    const message = objectOf(frame.message);
    const blocks = arrayOf(message.content).map(objectOf);
    const isStreamed = stringOf(message.id) === this.#state.streamedId && this.#state.streamedId !== '';
    if (typeof frame.error === 'string' || frame.isApiErrorMessage === true) {
      this.#set({ failure: { status: 'failed', failure: apiFailure(frame, blockTexts(blocks)) } });
      return;
    }
    // A text of Claude Code about the compaction, such as why it failed.
    if (this.#state.isCompacting) {
      this.#set({
        failure: { status: 'failed', failure: { kind: 'invalid-request', message: blockTexts(blocks) } },
      });
      return;
    }
    this.#run();
    for (const block of blocks) {
      if (block.type === 'tool_use') this.#call(block);
      else if (isStreamed) continue;
      else if (block.type === 'text') this.#text('text', block.text);
      else if (block.type === 'thinking') this.#text('thinking', block.thinking);
    }
  }

  user(frame: JsonObject): void {
    const { content } = objectOf(frame.message);
    const { tokensBefore } = this.#state;
    if (tokensBefore !== undefined && frame.isReplay !== true) {
      const summary = typeof content === 'string' ? content : blockTexts(arrayOf(content).map(objectOf));
      this.#set({ tokensBefore: undefined, isCompacting: false, failure: undefined });
      this.#emit({
        type: 'compacted',
        summary: SUMMARY.exec(summary)?.[1] ?? summary,
        ...(tokensBefore > 0 && { tokensBefore }),
      });
      return;
    }
    const results = arrayOf(content)
      .map(objectOf)
      .filter(({ type }) => type === 'tool_result');
    // With several results in one frame, the report cannot be assigned.
    const report = results.length === 1 ? frame.tool_use_result : undefined;
    const meta = arrayOf(frame.tool_result_meta).map(objectOf);
    for (const result of results) {
      const callId = stringOf(result.tool_use_id);
      this.#endCall(callId, result, report, meta.find(({ id }) => id === callId) ?? {});
    }
  }

  /** What a sub-agent does is shown as the output of the call that started it. */
  subAgent(parent: string, frame: JsonObject): void {
    const root = this.#rootCall(parent);
    const blocks = arrayOf(objectOf(frame.message).content).map(objectOf);
    const lines: string[] = [];
    for (const block of blocks) {
      const callId = stringOf(block.type === 'tool_use' ? block.id : block.tool_use_id);
      if (block.type === 'tool_use') {
        this.#set({ parents: new Map(this.#state.parents).set(callId, parent) });
        lines.push(`> ${this.#agentCall(block).title}`);
      } else if (block.type === 'tool_result') this.#set({ parents: without(this.#state.parents, callId) });
      else if (block.type === 'text' && frame.type === 'assistant') lines.push(stringOf(block.text).trim());
    }
    const open = this.#state.calls.get(root);
    const added = lines.filter((line) => line !== '').join('\n');
    if (open === undefined || added === '') return;
    const log = (open.log === '' ? added : `${open.log}\n${added}`).slice(-MAX_LOG);
    this.#set({ calls: new Map(this.#state.calls).set(root, { ...open, log }) });
    this.#emit({ type: 'call-update', callId: root, text: log });
  }

  lifecycle({ command_uuid: id, state }: JsonObject): void {
    const uuid = stringOf(id);
    const sent = this.#state.sent.get(uuid);
    if (sent === undefined || state === 'queued') return;
    this.#set({ sent: without(this.#state.sent, uuid) });
    if (state === 'cancelled') return;
    this.#run();
    if (sent === 'steer') this.#emit({ type: 'steered' });
  }

  request(requestId: string, request: JsonObject): void {
    if (requestId === '') return;
    if (request.subtype === 'can_use_tool') this.#permission(requestId, request);
    else if (request.subtype === 'elicitation') {
      this.#open(requestId, { type: 'elicitation', name: '', input: {} });
      this.#emit({ type: 'question', requestId, question: elicitationForm(request) });
    } else {
      const error = `Polypod does not support the request ${stringOf(request.subtype) || 'without a subtype'}.`;
      this.#refused.push({ requestId, error });
    }
  }

  withdraw(requestId: string): void {
    const { requests, answer } = this.#state;
    const request = requests.get(requestId);
    if (request === undefined) return;
    this.#set({ requests: without(requests, requestId) });
    const later = answer?.later.filter((event) => requestIdOf(event) !== requestId) ?? [];
    if (answer !== undefined && later.length < answer.later.length) {
      this.#set({ answer: { ...answer, later } });
      return;
    }
    this.#emit({ type: WITHDRAWN[request.type], requestId });
  }

  result(frame: JsonObject): void {
    this.#endAnswer();
    const cost = numberOf(frame.total_cost_usd);
    if (cost !== undefined) this.#events.push({ type: 'total-cost', usd: cost });
    const used = objectOf(objectOf(frame.modelUsage)[this.#state.model]);
    this.#set({ isRunning: false, window: numberOf(used.contextWindow) ?? this.#state.window });
    if (!this.#state.isActive) return;
    const outcome = this.#outcome(frame);
    // A later message is still queued, and Claude Code continues with it.
    if (this.#state.sent.size > 0 && !this.#state.isCancelling) return;
    // A sub-agent in the background waits for an answer; Claude Code starts a turn of its own when it has ended.
    if (this.#state.requests.size > 0 && outcome.status === 'finished') return;
    this.endTurn(outcome);
  }

  endTurn(outcome: AgentOutcome): void {
    for (const [requestId, { type }] of this.#state.requests) {
      this.#events.push({ type: WITHDRAWN[type], requestId });
      this.#refused.push({ requestId, error: 'The turn has ended.' });
    }
    this.#set({
      isActive: false,
      isRunning: false,
      isCancelling: false,
      isCompacting: false,
      sent: new Map(),
      calls: new Map(),
      requests: new Map(),
      failure: undefined,
      tokensBefore: undefined,
    });
    this.#events.push({ type: 'turn-end', outcome });
  }

  #outcome(frame: JsonObject): AgentOutcome {
    const reason = stringOf(frame.terminal_reason);
    if (this.#state.isCancelling || reason.startsWith('aborted')) return { status: 'cancelled' };
    if (frame.is_error !== true && !this.#state.isCompacting) return { status: 'finished' };
    const message = arrayOf(frame.errors).map(stringOf).join('; ');
    if (frame.subtype === 'error_max_turns') return { status: 'limited', limit: 'max-turns', message };
    if (frame.subtype === 'error_max_budget_usd') return { status: 'limited', limit: 'budget', message };
    return this.#state.failure ?? { status: 'failed', failure: resultFailure(frame) };
  }

  /** Claude Code works on the conversation; without a prompt, this is a turn of its own. */
  #run(): void {
    this.#activate();
    if (!this.#state.isRunning) this.#set({ isRunning: true });
  }

  #activate(): void {
    if (this.#state.isActive) return;
    this.#set({ isActive: true });
    this.#events.push({ type: 'turn-start' });
  }

  #text(type: 'text' | 'thinking', text: unknown): void {
    if (typeof text === 'string' && text !== '') this.#events.push({ type, text });
  }

  #call(block: JsonObject): void {
    const call = this.#agentCall(block);
    if (call.callId === '') return;
    const open: OpenCall = { call, input: objectOf(block.input), log: '' };
    this.#set({ calls: new Map(this.#state.calls).set(call.callId, open) });
    const { answer } = this.#state;
    if (answer === undefined) this.#events.push({ type: 'call', call });
    else this.#set({ answer: { ...answer, calls: [...answer.calls, call] } });
  }

  #agentCall({ id, name, input }: JsonObject): AgentCall {
    return agentCall(
      { callId: stringOf(id), name: stringOf(name), input: objectOf(input) },
      this.#state.paths,
    );
  }

  #endCall(callId: string, result: JsonObject, report: unknown, meta: JsonObject): void {
    const open = this.#state.calls.get(callId);
    if (open === undefined) return;
    const isError = result.is_error === true;
    const status = this.#status(isError, meta);
    const output = toolOutput(open.call, { content: result.content, isError, report });
    this.#set({ calls: without(this.#state.calls, callId) });
    this.#emit({
      type: 'call-end',
      callId,
      status,
      // Claude Code's text for the model calls it rejected.
      output: status === 'interrupted' ? { ...output, summary: `${open.call.title}: cancelled` } : output,
    });
    const todos = isError ? undefined : changedTodos(this.#state.todos, open.call, open.input, report);
    if (todos === undefined) return;
    this.#set({ todos });
    this.#emit({ type: 'todos', items: [...todos.values()] });
  }

  #status(isError: boolean, meta: JsonObject): CallStatus {
    if (!isError) return 'done';
    if (this.#state.isCancelling) return 'interrupted';
    const { decision } = objectOf(meta.permission_decision);
    if (decision === 'reject' || meta.non_execution_kind === 'permission-rule') return 'denied';
    return meta.non_execution_kind === 'user-rejected' ? 'interrupted' : 'failed';
  }

  #permission(requestId: string, request: JsonObject): void {
    // A sub-agent in the background may ask between two turns.
    this.#activate();
    const input = objectOf(request.input);
    const name = stringOf(request.tool_name);
    if (name === 'AskUserQuestion') {
      this.#open(requestId, { type: 'question', name, input });
      this.#emit({ type: 'question', requestId, question: questionForm(input) });
      return;
    }
    this.#open(requestId, { type: 'permission', name, input });
    const call = this.#agentCall({ id: request.tool_use_id, name, input });
    const agent = this.#state.agents.get(stringOf(request.agent_id));
    const parentCallId = agent === undefined ? undefined : this.#rootCall(agent);
    this.#emit({
      type: 'permission',
      request: { requestId, call, ...withoutUndefined({ parentCallId }) },
    });
  }

  #open(requestId: string, request: OpenRequest): void {
    this.#set({ requests: new Map(this.#state.requests).set(requestId, request) });
  }

  /** A sub-agent may start another one: the call of the main conversation in which it runs. */
  #rootCall(callId: string): string {
    let root = callId;
    for (let depth = 0; depth < MAX_NESTING; depth += 1) root = this.#state.parents.get(root) ?? root;
    return root;
  }

  /** Claude Code starts calls before the end of the answer is reported: their events follow it. */
  #emit(event: AgentEvent): void {
    const { answer } = this.#state;
    if (answer === undefined) this.#events.push(event);
    else this.#set({ answer: { ...answer, later: [...answer.later, event] } });
  }

  #endAnswer(): void {
    const { answer, window } = this.#state;
    if (answer === undefined) return;
    const { calls, later, counts, stopReason } = answer;
    const usage = usageFrom(counts);
    if (usage !== undefined) {
      this.#events.push({ type: 'usage', usage });
      const tokens = usage.totalTokens;
      if (tokens !== undefined)
        this.#events.push({ type: 'context', tokens, ...withoutUndefined({ window }) });
    }
    this.#events.push({ type: 'answer-end', ...withoutUndefined({ stopReason }) });
    for (const call of calls) this.#events.push({ type: 'call', call });
    this.#events.push(...later);
    this.#set({ answer: undefined });
  }

  #set(changes: Partial<ClaudeState>): void {
    this.#state = { ...this.#state, ...changes };
  }
}

function requestIdOf(event: AgentEvent): string | undefined {
  if (event.type === 'permission') return event.request.requestId;
  return event.type === 'question' ? event.requestId : undefined;
}

function blockTexts(blocks: readonly JsonObject[]): string {
  return blocks.flatMap(({ type, text }) => (type === 'text' ? [stringOf(text)] : [])).join('\n');
}

function without<V>(map: ReadonlyMap<string, V>, key: string): ReadonlyMap<string, V> {
  if (!map.has(key)) return map;
  const copy = new Map(map);
  copy.delete(key);
  return copy;
}

/** The summary without Claude Code's instructions for the model. */
const SUMMARY = /\nSummary:\n([\s\S]*?)\n\nIf you need specific details from before compaction/;
const WITHDRAWN = {
  permission: 'permission-withdrawn',
  question: 'question-withdrawn',
  elicitation: 'question-withdrawn',
} as const;
const STOP_REASONS: ReadonlyMap<string, StopReason> = new Map([
  ['end_turn', 'end-turn'],
  ['max_tokens', 'max-tokens'],
  ['stop_sequence', 'stop-sequence'],
  ['tool_use', 'tool-use'],
  ['pause_turn', 'pause-turn'],
  ['refusal', 'refusal'],
  ['model_context_window_exceeded', 'context-full'],
]);
const MAX_LOG = 4_000;
const MAX_NESTING = 10;

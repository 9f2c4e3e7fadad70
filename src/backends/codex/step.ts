import { arrayOf, type JsonObject, numberOf, objectOf, stringOf } from '../../base/index.ts';
import type { Usage } from '../../llm/index.ts';
import type { TodoItem } from '../../tools/index.ts';
import type { AgentEvent, AgentOutcome } from '../agent-event.ts';
import { backgroundEnd, callEnd, callOf, INTERRUPTED, type CallEnd } from './calls.ts';
import { failureOf } from './failures.ts';
import { askedBy, type KnownCall, type OpenRequest } from './requests.ts';

/** What is known about a session of Codex. */
export interface CodexState {
  readonly threadId: string;
  readonly cwd: string;
  /** The turn that is running. */
  readonly turnId: string | undefined;
  /** A prompt, or a request for a summary, has been sent: the next turn is ours. */
  readonly isPrompted: boolean;
  /** The turn is being cancelled. */
  readonly isCancelling: boolean;
  /** Calls without a result, by id. */
  readonly calls: ReadonlyMap<string, KnownCall>;
  /** Commands that run on although the model has continued. They end with the process of Codex, or by themselves. */
  readonly background: ReadonlySet<string>;
  /** Requests that wait for our answer, by `requestKey`. */
  readonly requests: ReadonlyMap<string, OpenRequest>;
  /** Messages and thoughts of which a part has been reported. */
  readonly streamed: ReadonlySet<string>;
  /** The message that was reported last, if nothing else was reported since. */
  readonly lastText: string | undefined;
  /** The tokens of the session that have been reported. */
  readonly totalTokens: number;
  readonly contextTokens: number | undefined;
  /** The size of the context when Codex began to summarize it. */
  readonly tokensBefore: number | undefined;
  /** The sub-agents by the id of their thread. */
  readonly subAgents: ReadonlyMap<string, SubAgent>;
}

interface SubAgent {
  /** The call that started it, or that uses it now. */
  readonly callId: string;
  /** What it has done, for display. */
  readonly text: string;
  /** Whether it has a turn. */
  readonly isActive: boolean;
  readonly totalTokens: number;
}

/** Whether something runs that a cancelled turn leaves running. */
export function hasRunning({ background, subAgents }: CodexState): boolean {
  return background.size > 0 || [...subAgents.values()].some(({ isActive }) => isActive);
}

export interface CodexStep {
  readonly state: CodexState;
  readonly events: readonly AgentEvent[];
  /** Answers that need nobody's decision. */
  readonly replies: readonly JsonObject[];
}

export function initialState(threadId: string, cwd: string): CodexState {
  return {
    threadId,
    cwd,
    turnId: undefined,
    isPrompted: false,
    isCancelling: false,
    calls: new Map(),
    background: new Set(),
    requests: new Map(),
    streamed: new Set(),
    lastText: undefined,
    totalTokens: 0,
    contextTokens: undefined,
    tokensBefore: undefined,
    subAgents: new Map(),
  };
}

/** The id of a request in our events. */
export function requestKey(id: number | string): string {
  return String(id);
}

/** Translates a notification or a request of Codex. Frames that are unknown or malformed have no effect. */
export function step(state: CodexState, frame: JsonObject): CodexStep {
  const method = stringOf(frame.method);
  const params = objectOf(frame.params);
  const { id } = frame;
  if (typeof id === 'number' || typeof id === 'string') return request(state, id, method, params);
  if (method === 'serverRequest/resolved') return resolved(state, params);
  if (method === 'thread/started') return subThread(state, objectOf(params.thread));
  const threadId = stringOf(params.threadId);
  if (threadId === state.threadId) return NOTIFICATIONS[method]?.(state, params) ?? unchanged(state);
  return state.subAgents.has(threadId) ? subAgentStep(state, threadId, method, params) : unchanged(state);
}

type Handler = (state: CodexState, params: JsonObject) => CodexStep;

const NOTIFICATIONS: Readonly<Record<string, Handler>> = {
  'turn/started': (state, params) => {
    const turnId = stringOf(objectOf(params.turn).id);
    const events: readonly AgentEvent[] = state.isPrompted ? [] : [{ type: 'turn-start' }];
    return { ...unchanged({ ...state, turnId, isPrompted: true }), events };
  },
  'turn/completed': (state, params) => turnEnd(state, objectOf(params.turn)),
  'item/started': (state, params) => itemStart(state, objectOf(params.item)),
  'item/completed': (state, params) => itemEnd(state, objectOf(params.item)),
  'item/agentMessage/delta': (state, params) =>
    text(state, 'text', stringOf(params.itemId), stringOf(params.delta)),
  'item/plan/delta': (state, params) => text(state, 'text', stringOf(params.itemId), stringOf(params.delta)),
  'item/reasoning/summaryTextDelta': (state, params) =>
    text(
      state,
      'thinking',
      `${stringOf(params.itemId)} ${numberOf(params.summaryIndex) ?? 0}`,
      stringOf(params.delta),
      stringOf(params.itemId),
    ),
  'item/reasoning/textDelta': (state, params) =>
    text(state, 'thinking', stringOf(params.itemId), stringOf(params.delta)),
  'item/mcpToolCall/progress': (state, params) =>
    update(state, stringOf(params.itemId), stringOf(params.message)),
  'thread/tokenUsage/updated': (state, params) => tokenUsage(state, params),
  'turn/plan/updated': (state, params) => ({
    ...unchanged(state),
    events: [{ type: 'todos', items: todosOf(params) }],
  }),
  error: (state, params) => retry(state, params),
};

function unchanged(state: CodexState): CodexStep {
  return { state, events: [], replies: [] };
}

/** Reports a part of a message. Two messages that follow each other are two paragraphs. */
function text(
  state: CodexState,
  type: 'text' | 'thinking',
  part: string,
  delta: string,
  itemId = part,
): CodexStep {
  if (delta === '') return unchanged(state);
  const lastText = `${type} ${part}`;
  const isNew = state.lastText !== undefined && state.lastText !== lastText;
  const hasSameType = state.lastText?.startsWith(`${type} `) === true;
  // Most deltas continue a message: the state stays the same.
  const isKnown = state.lastText === lastText && state.streamed.has(itemId);
  return {
    state: isKnown ? state : { ...state, lastText, streamed: new Set([...state.streamed, itemId]) },
    events: [{ type, text: isNew && hasSameType ? `\n\n${delta}` : delta }],
    replies: [],
  };
}

function update(state: CodexState, callId: string, message: string): CodexStep {
  if (message === '' || !state.calls.has(callId)) return unchanged(state);
  return { ...unchanged(state), events: [{ type: 'call-update', callId, text: message }] };
}

function itemStart(state: CodexState, item: JsonObject): CodexStep {
  const { type } = item;
  if (type === 'userMessage') {
    const isSteering = stringOf(item.clientId).startsWith(STEERING);
    return { ...unchanged(state), events: isSteering ? [{ type: 'steered' }] : [] };
  }
  if (type === 'contextCompaction') return unchanged({ ...state, tokensBefore: state.contextTokens });
  const call = callOf(item, state.cwd);
  if (call === undefined || state.calls.has(call.callId)) return unchanged(state);
  const calls = new Map([...state.calls, [call.callId, { item, call, isAsked: false }]]);
  const next = withReceivers({ ...state, calls, lastText: undefined }, item, call.callId);
  return { ...unchanged(next), events: [{ type: 'call', call }] };
}

/** The start of the ids of steering messages. Prompts and reasons of a denial have other ids. */
export const STEERING = 'polypod-steer-';

function itemEnd(state: CodexState, item: JsonObject): CodexStep {
  const id = stringOf(item.id);
  if (item.type === 'agentMessage' || item.type === 'plan')
    return state.streamed.has(id) ? unchanged(state) : text(state, 'text', id, stringOf(item.text));
  if (item.type === 'reasoning') {
    const parts = arrayOf(item.summary).map(stringOf).join('\n\n');
    return state.streamed.has(id) ? unchanged(state) : text(state, 'thinking', id, parts);
  }
  if (item.type === 'contextCompaction') {
    const { tokensBefore } = state;
    const event: AgentEvent = {
      type: 'compacted',
      summary: '',
      ...(tokensBefore === undefined ? {} : { tokensBefore }),
    };
    return { ...unchanged(state), events: [event] };
  }
  // Some items are reported only when they are complete.
  const begun = itemStart(withoutBackground(state, id), item);
  const known = begun.state.calls.get(id);
  if (known === undefined || state.background.has(id)) return unchanged(withoutBackground(state, id));
  const end = callEnd(item, state.cwd);
  const next = withoutCall(withReceivers(begun.state, item, id), id);
  return { ...unchanged(next), events: [...begun.events, endEvent(id, end)] };
}

function endEvent(callId: string, { status, output }: CallEnd): AgentEvent {
  return { type: 'call-end', callId, status, output };
}

function withoutCall(state: CodexState, callId: string): CodexState {
  return { ...state, calls: new Map([...state.calls].filter(([id]) => id !== callId)) };
}

function withoutBackground(state: CodexState, callId: string): CodexState {
  if (!state.background.has(callId)) return state;
  return { ...state, background: new Set([...state.background].filter((id) => id !== callId)) };
}

/**
 * Codex reports the usage of a request after all calls of its answer have returned. A command without an end then runs on in the
 * background. Codex repeats the last report when a session is resumed and after a summary.
 */
function tokenUsage(state: CodexState, params: JsonObject): CodexStep {
  const { total, last, modelContextWindow } = objectOf(params.tokenUsage);
  const totalTokens = numberOf(objectOf(total).totalTokens) ?? state.totalTokens;
  const tokens = numberOf(objectOf(last).totalTokens);
  const window = numberOf(modelContextWindow);
  const isNew = state.turnId !== undefined && totalTokens !== state.totalTokens;
  const events: AgentEvent[] = [
    ...(isNew ? [{ type: 'usage', usage: usageOf(objectOf(last)) } as const] : []),
    ...(tokens === undefined
      ? []
      : [{ type: 'context', tokens, ...(window === undefined ? {} : { window }) } as const]),
  ];
  const next = { ...state, totalTokens, contextTokens: tokens ?? state.contextTokens };
  if (!isNew || state.isCancelling) return { ...unchanged(next), events };
  const running = [...state.calls].filter(
    ([id, { item }]) => item.type === 'commandExecution' && !hasRequest(state, id),
  );
  return {
    ...unchanged({
      ...next,
      lastText: undefined,
      calls: new Map([...state.calls].filter(([id]) => !running.some(([other]) => other === id))),
      background: new Set([...state.background, ...running.map(([id]) => id)]),
    }),
    events: [...running.map(([id, { call }]) => endEvent(id, backgroundEnd(call))), ...events],
  };
}

function hasRequest(state: CodexState, callId: string): boolean {
  return [...state.requests.values()].some((open) => open.callId === callId);
}

function usageOf(last: JsonObject): Usage {
  const fields = {
    inputTokens: numberOf(last.inputTokens),
    outputTokens: numberOf(last.outputTokens),
    totalTokens: numberOf(last.totalTokens),
    cacheReadInputTokens: numberOf(last.cachedInputTokens),
    cacheCreationInputTokens: numberOf(last.cacheWriteInputTokens),
    reasoningTokens: numberOf(last.reasoningOutputTokens),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, count]) => count !== undefined));
}

function todosOf(params: JsonObject): readonly TodoItem[] {
  return arrayOf(params.plan).flatMap((entry) => {
    const { step: content, status } = objectOf(entry);
    if (typeof content !== 'string') return [];
    return [
      {
        content,
        status: status === 'completed' ? status : status === 'inProgress' ? 'in_progress' : 'pending',
      },
    ];
  });
}

/** Codex reports the number of the attempt only in a text: `Reconnecting... 1/5`. The last failure is in the end of the turn. */
function retry(state: CodexState, params: JsonObject): CodexStep {
  if (params.willRetry !== true) return unchanged(state);
  const error = objectOf(params.error);
  const [, attempt = '1', maxAttempts = attempt] = /(\d+)\/(\d+)/.exec(stringOf(error.message)) ?? [];
  const event: AgentEvent = {
    type: 'retry',
    attempt: Number(attempt),
    maxAttempts: Number(maxAttempts),
    delayMs: 0,
    failure: failureOf(error),
  };
  return { ...unchanged(state), events: [event] };
}

function turnEnd(state: CodexState, turn: JsonObject): CodexStep {
  // Another turn than the current one, such as one that was replaced.
  if (state.turnId !== undefined && stringOf(turn.id) !== state.turnId) return unchanged(state);
  const isInterrupted = turn.status !== 'completed';
  const open = [...state.calls];
  const ends = open.map(([id, { item, call }]) =>
    endEvent(id, item.type === 'commandExecution' && !isInterrupted ? backgroundEnd(call) : INTERRUPTED),
  );
  const running = open.flatMap(([id, { item }]) => (item.type === 'commandExecution' ? [id] : []));
  const next: CodexState = {
    ...state,
    turnId: undefined,
    isPrompted: false,
    isCancelling: false,
    calls: new Map(),
    background: new Set([...state.background, ...running]),
    requests: new Map(),
    streamed: new Set(),
    lastText: undefined,
  };
  return {
    ...unchanged(next),
    events: [...withdrawals(state), ...ends, { type: 'turn-end', outcome: outcomeOf(turn) }],
  };
}

/** The events for requests that nobody needs to answer any more. */
function withdrawals({ requests }: CodexState): readonly AgentEvent[] {
  return [...requests].map(([requestId, open]) => withdrawal(requestId, open));
}

function withdrawal(requestId: string, { callId }: OpenRequest): AgentEvent {
  return { type: callId === undefined ? 'question-withdrawn' : 'permission-withdrawn', requestId };
}

function outcomeOf({ status, error }: JsonObject): AgentOutcome {
  if (status === 'completed') return { status: 'finished' };
  if (status === 'interrupted') return { status: 'cancelled' };
  return { status: 'failed', failure: failureOf(objectOf(error)) };
}

function resolved(state: CodexState, params: JsonObject): CodexStep {
  const { requestId: id } = params;
  const key = requestKey(typeof id === 'number' || typeof id === 'string' ? id : '');
  const open = state.requests.get(key);
  if (open === undefined) return unchanged(state);
  return { ...unchanged(withoutRequest(state, key)), events: [withdrawal(key, open)] };
}

/** The state after the request has been answered. */
export function withoutRequest(state: CodexState, key: string): CodexState {
  return { ...state, requests: new Map([...state.requests].filter(([id]) => id !== key)) };
}

function request(state: CodexState, id: number | string, method: string, params: JsonObject): CodexStep {
  const threadId = stringOf(params.threadId);
  const subAgent = state.subAgents.get(threadId);
  const asked = askedBy(method, params, state);
  const isOurs = threadId === state.threadId || subAgent !== undefined;
  if (asked === undefined || !isOurs) return refused(state, id, method);
  // Nobody waits for what a sub-agent does after the turn.
  if (state.turnId === undefined && !state.isPrompted) return refused(state, id, method);
  const key = requestKey(id);
  if (asked.type === 'question') {
    const requests = new Map([...state.requests, [key, { id, method, params }]]);
    return {
      ...unchanged({ ...state, requests }),
      events: [{ type: 'question', requestId: key, question: asked.question }],
    };
  }
  const { call } = asked;
  const { callId } = call;
  const requests = new Map([...state.requests, [key, { id, method, params, callId }]]);
  const known = state.calls.get(callId);
  const calls =
    known === undefined ? state.calls : new Map([...state.calls, [callId, { ...known, isAsked: true }]]);
  const parent = subAgent === undefined ? {} : { parentCallId: subAgent.callId };
  return {
    ...unchanged({ ...state, requests, calls, lastText: undefined }),
    events: [{ type: 'permission', request: { requestId: key, call, ...parent } }],
  };
}

function refused(state: CodexState, id: number | string, method: string): CodexStep {
  const error = { code: -32601, message: `${method || 'the request'} is not supported` };
  return { ...unchanged(state), replies: [{ id, error }] };
}

/** The threads of sub-agents that a call uses. */
function withReceivers(state: CodexState, item: JsonObject, callId: string): CodexState {
  if (item.type !== 'collabAgentToolCall') return state;
  const receivers = arrayOf(item.receiverThreadIds).filter((id) => typeof id === 'string');
  const added = receivers.map((id): [string, SubAgent] => [
    id,
    { ...(state.subAgents.get(id) ?? NEW_SUB_AGENT), callId },
  ]);
  return { ...state, subAgents: new Map([...state.subAgents, ...added]) };
}

const NEW_SUB_AGENT = { text: '', isActive: false, totalTokens: 0 };

/** A sub-agent may act before the call that starts it is complete. */
function subThread(state: CodexState, thread: JsonObject): CodexStep {
  const parent = stringOf(thread.parentThreadId);
  const threadId = stringOf(thread.id);
  const above = state.subAgents.get(parent);
  const open = [...state.calls.values()].findLast(({ item }) => item.type === 'collabAgentToolCall');
  const callId = above?.callId ?? (parent === state.threadId ? open?.call.callId : undefined);
  if (callId === undefined || state.subAgents.has(threadId)) return unchanged(state);
  return unchanged(withSubAgent(state, threadId, { ...NEW_SUB_AGENT, callId }));
}

function withSubAgent(state: CodexState, threadId: string, subAgent: SubAgent): CodexState {
  return { ...state, subAgents: new Map([...state.subAgents, [threadId, subAgent]]) };
}

/** What a sub-agent does is shown as an update of the call that uses it. Its requests count as those of the session. */
function subAgentStep(state: CodexState, threadId: string, method: string, params: JsonObject): CodexStep {
  const subAgent = state.subAgents.get(threadId);
  const item = objectOf(params.item);
  if (subAgent === undefined) return unchanged(state);
  switch (method) {
    case 'turn/started':
    case 'turn/completed':
      return unchanged(withSubAgent(state, threadId, { ...subAgent, isActive: method === 'turn/started' }));
    case 'thread/tokenUsage/updated':
      return subAgentUsage(state, threadId, subAgent, objectOf(params.tokenUsage));
    case 'item/started': {
      const id = stringOf(item.id);
      const isCommand = item.type === 'commandExecution';
      return unchanged(isCommand ? { ...state, background: new Set([...state.background, id]) } : state);
    }
    case 'item/completed':
      return subAgentItem(withoutBackground(state, stringOf(item.id)), threadId, subAgent, item);
    default:
      return unchanged(state);
  }
}

function subAgentUsage(
  state: CodexState,
  threadId: string,
  subAgent: SubAgent,
  usage: JsonObject,
): CodexStep {
  const { total, last } = usage;
  const totalTokens = numberOf(objectOf(total).totalTokens) ?? subAgent.totalTokens;
  if (totalTokens === subAgent.totalTokens) return unchanged(state);
  const next = withSubAgent(state, threadId, { ...subAgent, totalTokens });
  return { ...unchanged(next), events: [{ type: 'usage', usage: usageOf(objectOf(last)) }] };
}

function subAgentItem(state: CodexState, threadId: string, subAgent: SubAgent, item: JsonObject): CodexStep {
  // A sub-agent of a sub-agent belongs to the same call.
  const next = withReceivers(state, item, subAgent.callId);
  const line = subAgentLine(item, state.cwd);
  if (line === '') return unchanged(next);
  const shown = `${subAgent.text}${subAgent.text === '' ? '' : '\n'}${line}`.slice(-MAX_UPDATE);
  return update(withSubAgent(next, threadId, { ...subAgent, text: shown }), subAgent.callId, shown);
}

function subAgentLine(item: JsonObject, cwd: string): string {
  if (item.type === 'agentMessage') return stringOf(item.text);
  const call = callOf(item, cwd);
  return call === undefined ? '' : `${call.title}: ${callEnd(item, cwd).status}`;
}

const MAX_UPDATE = 10_000;

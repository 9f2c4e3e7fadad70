import {
  ellipsize,
  isObject,
  type JsonObject,
  numberOf,
  objectOf,
  stringOf,
  withoutUndefined,
} from '../../base/index.ts';
import { type Failure, failureFromBody, type StopReason, type Usage } from '../../llm/index.ts';
import { errorOutput, type ToolOutput } from '../../tools/index.ts';
import { RPC_CODES, type RpcError } from '../../wire/index.ts';
import type { AgentEvent, AgentOutcome, PermissionReply } from '../agent-event.ts';
import {
  blockContent,
  type CallDialect,
  type CallFields,
  callOutput,
  describeCall,
  type FileDiff,
  mergeCall,
  outputSoFar,
  planItems,
  todosOf,
} from './calls.ts';

/** What a connection knows about its session. */
export interface AcpState {
  readonly dialect: CallDialect;
  /** Undefined until the session is open: updates before that are the history of a session that is loaded. */
  readonly sessionId: string | undefined;
  /** The id of the request whose answer ends the turn. */
  readonly promptId: number | undefined;
  readonly isCancelling: boolean;
  /** Whether a call of this turn was denied: some agents then end the turn as cancelled. */
  readonly isDenied: boolean;
  /** The calls of the turn. Changed in place: copies would take quadratic time in a turn with many calls. */
  readonly calls: Map<string, CallState>;
  readonly requests: ReadonlyMap<string, OpenRequest>;
  /** The summary so far of a compaction. */
  readonly compaction: { readonly id: string; readonly summary: string } | undefined;
}

interface CallState {
  readonly fields: CallFields;
  readonly isReported: boolean;
  readonly isStarted: boolean;
  readonly isEnded: boolean;
}

/** A request of the agent that waits for an answer of a person or the policy. */
interface OpenRequest {
  /** As the agent wrote it. */
  readonly id: unknown;
  readonly type: 'permission' | 'question';
  readonly callId: string;
  readonly allow: string | undefined;
  readonly reject: string | undefined;
}

/** What the connection has to send or do. */
export type AcpAction =
  | { readonly type: 'result'; readonly id: unknown; readonly result: object }
  | { readonly type: 'error'; readonly id: unknown; readonly error: RpcError }
  /** A request for files or terminals. */
  | { readonly type: 'serve'; readonly id: unknown; readonly method: string; readonly params: JsonObject }
  /** The agent withdraws a request that is being served. */
  | { readonly type: 'abort'; readonly id: unknown }
  /** The answer to one of our requests. */
  | { readonly type: 'settle'; readonly id: number; readonly result: unknown; readonly error: unknown };

export interface AcpStep {
  readonly state: AcpState;
  readonly events: readonly AgentEvent[];
  readonly actions: readonly AcpAction[];
  /** The changes of files by calls that have ended, by call. */
  readonly diffs: ReadonlyMap<string, readonly FileDiff[]>;
}

export function newState(dialect: CallDialect): AcpState {
  return {
    dialect,
    sessionId: undefined,
    promptId: undefined,
    isCancelling: false,
    isDenied: false,
    calls: new Map(),
    requests: new Map(),
    compaction: undefined,
  };
}

/** The state after our request `session/prompt` with this id. */
export function startTurn(state: AcpState, promptId: number): AcpState {
  return { ...state, promptId, isCancelling: false, isDenied: false, calls: new Map() };
}

/** The state after `session/cancel`: all open requests are answered, because some agents wait for the answers. */
export function cancelTurn(state: AcpState): AcpStep {
  const actions = [...state.requests.values()].map(cancelled);
  return unchanged({ ...state, isCancelling: true, requests: new Map() }, { actions });
}

/** Answers a permission request. Unknown requests are ignored: they were withdrawn. */
export function answerPermission(state: AcpState, requestId: string, reply: PermissionReply): AcpStep {
  const request = state.requests.get(requestId);
  if (request?.type !== 'permission') return unchanged(state);
  const next = { ...state, requests: without(state.requests, requestId) };
  if (reply.decision === 'cancel') return unchanged(next, { actions: [cancelled(request)] });
  const optionId = reply.decision === 'allow' ? request.allow : request.reject;
  // Without the option, nothing is allowed: an agent treats `cancelled` as a rejection.
  const action = optionId === undefined ? cancelled(request) : selected(request, optionId);
  if (reply.decision === 'allow') {
    if (optionId !== undefined) return unchanged(next, { actions: [action] });
    const text = 'The call was not run: the agent does not offer to allow a single call.';
    return endDenied({ ...next, isDenied: true }, request.callId, text, [action]);
  }
  return endDenied({ ...next, isDenied: true }, request.callId, reply.reason, [action]);
}

/** Answers a question; `result` is that of `elicitation/create`. */
export function answerQuestion(state: AcpState, requestId: string, result: object): AcpStep {
  const request = state.requests.get(requestId);
  if (request?.type !== 'question') return unchanged(state);
  const next = { ...state, requests: without(state.requests, requestId) };
  return unchanged(next, { actions: [{ type: 'result', id: request.id, result }] });
}

/** Translates one message of the agent. */
export function step(state: AcpState, frame: JsonObject): AcpStep {
  const { id, method, params } = frame;
  if (typeof method !== 'string') return answered(state, frame);
  if (id === undefined) return notified(state, method, objectOf(params));
  return requested(state, id, method, objectOf(params));
}

/** Our request has been answered. */
function answered(state: AcpState, { id, result, error }: JsonObject): AcpStep {
  if (typeof id !== 'number') return unchanged(state);
  if (id !== state.promptId) return unchanged(state, { actions: [{ type: 'settle', id, result, error }] });
  // Requests that the agent has not withdrawn are void, but the agent may wait for their answers.
  const actions = [...state.requests.values()].map(cancelled);
  const next: AcpState = { ...state, promptId: undefined, requests: new Map(), calls: new Map() };
  if (isObject(error)) {
    const outcome: AgentOutcome = state.isCancelling
      ? { status: 'cancelled' }
      : { status: 'failed', failure: failureOf(error) };
    return unchanged(next, { actions, events: [...lateCalls(state), { type: 'turn-end', outcome }] });
  }
  const answer = objectOf(result);
  const reason = stringOf(answer.stopReason);
  const stopReason = STOP_REASONS.get(reason);
  return unchanged(next, {
    actions,
    events: [
      ...lateCalls(state),
      ...usageEvents(answer),
      ...(stopReason === undefined ? [] : [{ type: 'answer-end', stopReason } as const]),
      { type: 'turn-end', outcome: outcomeOf(reason, state) },
    ],
  });
}

/** Calls whose arguments were never reported as complete. */
function lateCalls(state: AcpState): readonly AgentEvent[] {
  return [...state.calls.values()]
    .filter(({ isReported }) => !isReported)
    .map(({ fields }) => ({ type: 'call', call: describeCall(fields, state.dialect) }));
}

const STOP_REASONS: ReadonlyMap<string, StopReason> = new Map([
  ['max_tokens', 'max-tokens'],
  ['refusal', 'refusal'],
]);

function outcomeOf(reason: string, { isCancelling, isDenied }: AcpState): AgentOutcome {
  if (reason === 'cancelled') return { status: isDenied && !isCancelling ? 'finished' : 'cancelled' };
  if (reason === 'max_turn_requests')
    return {
      status: 'limited',
      limit: 'max-turns',
      message: 'The agent reached its limit of requests in one turn.',
    };
  return { status: 'finished' };
}

const AUTH_REQUIRED = -32000;

/** The reason of an error answer. Gemini puts the error of the provider into the message as JSON. */
export function failureOf(error: JsonObject): Failure {
  const stated = stringOf(error.message);
  const data = objectOf(error.data);
  const inside = stated.startsWith('{') ? objectOf(parseOrUndefined(stated)) : {};
  const details = stringOf(data.details) || stringOf(data.message) || stringOf(error.data);
  const code = numberOf(error.code);
  if (code === AUTH_REQUIRED)
    return { kind: 'auth', message: details || stated || 'the agent is not signed in' };
  if (isObject(inside.error)) return failureFromBody(inside);
  const isStatus = code !== undefined && code >= 400 && code < 600;
  const message = [stated.replace(/^Internal error:? ?/, ''), details]
    .filter((part) => part !== '')
    .join(': ');
  return failureFromBody({ error: { message: message || stated, ...(isStatus && { code: String(code) }) } });
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The usage in the answer to a prompt: `usage` of the protocol (unstable), or Gemini's `_meta.quota`. */
function usageEvents(answer: JsonObject): readonly AgentEvent[] {
  const { usage, _meta } = answer;
  const counted = objectOf(usage);
  const quota = objectOf(objectOf(objectOf(_meta).quota).token_count);
  const input = numberOf(counted.inputTokens) ?? numberOf(quota.input_tokens);
  const output = numberOf(counted.outputTokens) ?? numberOf(quota.output_tokens);
  if (input === undefined && output === undefined) return [];
  if (input === 0 && output === 0) return [];
  const cacheRead = numberOf(counted.cachedReadTokens);
  const cacheCreation = numberOf(counted.cachedWriteTokens);
  const reasoning = numberOf(counted.thoughtTokens);
  const all: Usage = withoutUndefined({
    // Ours include the cached and the reasoning parts.
    inputTokens: input === undefined ? undefined : input + (cacheRead ?? 0) + (cacheCreation ?? 0),
    outputTokens: output === undefined ? undefined : output + (reasoning ?? 0),
    cacheReadInputTokens: cacheRead,
    cacheCreationInputTokens: cacheCreation,
    reasoningTokens: reasoning,
  });
  return [{ type: 'usage', usage: all }];
}

function notified(state: AcpState, method: string, params: JsonObject): AcpStep {
  if (method === '$/cancel_request') return withdrawn(state, params.requestId);
  if (method !== 'session/update') return unchanged(state);
  if (state.sessionId === undefined || params.sessionId !== state.sessionId) return unchanged(state);
  return updated(state, objectOf(params.update));
}

function withdrawn(state: AcpState, id: unknown): AcpStep {
  const requestId = keyOf(id);
  const request = state.requests.get(requestId);
  if (request === undefined) return unchanged(state, { actions: [{ type: 'abort', id }] });
  const next = { ...state, requests: without(state.requests, requestId) };
  return unchanged(next, {
    actions: [{ type: 'error', id, error: { code: CANCELLED, message: 'Request cancelled' } }],
    events: [
      { type: request.type === 'permission' ? 'permission-withdrawn' : 'question-withdrawn', requestId },
    ],
  });
}

const CANCELLED = -32800;

function updated(state: AcpState, update: JsonObject): AcpStep {
  const isTurn = state.promptId !== undefined;
  switch (update.sessionUpdate) {
    case 'agent_message_chunk':
    case 'agent_thought_chunk': {
      const [content] = blockContent(update.content);
      if (!isTurn || content?.type !== 'text' || content.text === '') return unchanged(state);
      const type = update.sessionUpdate === 'agent_message_chunk' ? 'text' : 'thinking';
      return unchanged(state, { events: [{ type, text: content.text }] });
    }
    case 'tool_call':
    case 'tool_call_update':
      return isTurn ? updatedCall(state, update) : unchanged(state);
    case 'plan':
      return isTurn
        ? unchanged(state, { events: [{ type: 'todos', items: planItems(update.entries) }] })
        : unchanged(state);
    case 'usage_update':
      return unchanged(state, { events: contextEvents(update) });
    case 'compaction_update':
    case 'compaction_summary_chunk':
      return compacted(state, update);
    default:
      return unchanged(state);
  }
}

function contextEvents({ used, size, cost }: JsonObject): readonly AgentEvent[] {
  const tokens = numberOf(used);
  const window = numberOf(size);
  const { amount, currency } = objectOf(cost);
  const usd = currency === 'USD' ? numberOf(amount) : undefined;
  return [
    ...(tokens === undefined || tokens === 0
      ? []
      : [{ type: 'context', tokens, ...(window !== undefined && window > 0 && { window }) } as const]),
    ...(usd === undefined || usd === 0 ? [] : [{ type: 'total-cost', usd } as const]),
  ];
}

function compacted(state: AcpState, update: JsonObject): AcpStep {
  const id = stringOf(update.compactionId);
  const parts = Array.isArray(update.summary) ? update.summary : [update.content];
  const text = parts
    .flatMap(blockContent)
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('');
  const before = state.compaction?.id === id ? state.compaction.summary : '';
  const summary = ellipsize(Array.isArray(update.summary) ? text : before + text, MAX_SUMMARY);
  if (update.status === 'completed')
    return unchanged({ ...state, compaction: undefined }, { events: [{ type: 'compacted', summary }] });
  return unchanged({ ...state, compaction: { id, summary } });
}

const MAX_SUMMARY = 1_000_000;

function updatedCall(state: AcpState, update: JsonObject): AcpStep {
  const callId = callIdOf(update);
  const before = state.calls.get(callId);
  // Some models use an id again for a later call.
  const known = update.sessionUpdate === 'tool_call' && before?.isEnded === true ? undefined : before;
  if (callId === '' || known?.isEnded === true) return unchanged(state);
  const fields = mergeCall(known?.fields, update);
  const { status } = update;
  const isOver = status === 'completed' || status === 'failed';
  const isComplete = isOver || status === 'in_progress';
  const text = status === 'in_progress' && fields !== known?.fields ? outputSoFar(fields) : '';
  const wasReported = known?.isReported ?? false;
  const wasStarted = known?.isStarted ?? false;
  const isReported = wasReported || isComplete;
  // `in_progress` alone does not mean that it runs: opencode asks for permission after it.
  const isStarted = wasStarted || (text !== '' && known !== undefined);
  const events: AgentEvent[] = [];
  if (isReported && !wasReported) events.push({ type: 'call', call: describeCall(fields, state.dialect) });
  if (isStarted && !wasStarted) events.push({ type: 'call-start', callId });
  if (isStarted && !isOver && text !== '' && text !== (known && outputSoFar(known.fields)))
    events.push({ type: 'call-update', callId, text });
  if (isOver) events.push(endOf(state, fields, status));
  const todos = status === 'completed' ? todosOf(fields) : undefined;
  if (todos !== undefined) events.push({ type: 'todos', items: todos });
  const next = withCall(state, { fields, isReported, isStarted, isEnded: isOver });
  return unchanged(next, {
    events,
    ...(isOver && fields.diffs.length > 0 && { diffs: new Map([[callId, fields.diffs]]) }),
  });
}

function endOf(state: AcpState, fields: CallFields, end: 'completed' | 'failed'): AgentEvent {
  const { isCancelling, dialect } = state;
  const output = callOutput(fields, isCancelling ? 'cancelled' : end, dialect);
  const status = isCancelling ? 'interrupted' : output.isError ? 'failed' : 'done';
  return { type: 'call-end', callId: fields.callId, status, output };
}

function endDenied(state: AcpState, callId: string, reason: string, actions: readonly AcpAction[]): AcpStep {
  const call = state.calls.get(callId);
  if (call === undefined || call.isEnded) return unchanged(state, { actions });
  const output: ToolOutput = errorOutput(reason, { denied: true });
  // Some agents report a denied call as failed, others not at all.
  return unchanged(withCall(state, { ...call, isEnded: true }), {
    actions,
    events: [{ type: 'call-end', callId, status: 'denied', output }],
  });
}

function requested(state: AcpState, id: unknown, method: string, params: JsonObject): AcpStep {
  const { sessionId } = params;
  if (sessionId !== undefined && sessionId !== state.sessionId)
    return refused(state, id, RPC_CODES.invalidParams, 'sessionId is not the id of the open session');
  switch (method) {
    case 'session/request_permission':
      return permission(state, id, params);
    case 'elicitation/create':
      return question(state, id, params);
    case 'fs/read_text_file':
    case 'fs/write_text_file':
    case 'terminal/create':
      return state.promptId === undefined || state.isCancelling
        ? refused(state, id, RPC_CODES.invalidRequest, 'no turn is active')
        : unchanged(state, { actions: [{ type: 'serve', id, method, params }] });
    case 'terminal/output':
    case 'terminal/wait_for_exit':
    case 'terminal/kill':
    case 'terminal/release':
      return unchanged(state, { actions: [{ type: 'serve', id, method, params }] });
    default:
      return refused(state, id, RPC_CODES.methodNotFound, `Method not found: ${method}`);
  }
}

function permission(state: AcpState, id: unknown, params: JsonObject): AcpStep {
  const requestId = keyOf(id);
  const update = objectOf(params.toolCall);
  const callId = callIdOf(update);
  if (callId === '') return refused(state, id, RPC_CODES.invalidParams, 'toolCall.toolCallId is missing');
  if (state.requests.has(requestId)) return refused(state, id, RPC_CODES.invalidRequest, 'the id is in use');
  const options = (Array.isArray(params.options) ? params.options : []).map(objectOf);
  const optionOf = (kind: string): string | undefined =>
    options
      .map((option) => (option.kind === kind ? stringOf(option.optionId) : ''))
      .find((found) => found !== '');
  const request: OpenRequest = {
    id,
    type: 'permission',
    callId,
    // Never an option that allows more than this call.
    allow: optionOf('allow_once'),
    reject: optionOf('reject_once'),
  };
  // Outside of a turn nobody decides.
  if (state.promptId === undefined || state.isCancelling)
    return unchanged(state, { actions: [cancelled(request)] });
  const before = state.calls.get(callId);
  const known = before?.isEnded === true ? undefined : before;
  const fields = mergeCall(known?.fields, update);
  const next = withCall(state, {
    fields,
    isReported: true,
    isStarted: known?.isStarted ?? false,
    isEnded: false,
  });
  return unchanged(
    { ...next, requests: new Map([...state.requests, [requestId, request]]) },
    { events: [{ type: 'permission', request: { requestId, call: describeCall(fields, state.dialect) } }] },
  );
}

function question(state: AcpState, id: unknown, params: JsonObject): AcpStep {
  const requestId = keyOf(id);
  const isForm = params.mode === 'form' && isObject(params.requestedSchema);
  if (!isForm || state.promptId === undefined || state.isCancelling || state.requests.has(requestId))
    return unchanged(state, {
      actions: [{ type: 'result', id, result: { action: isForm ? 'cancel' : 'decline' } }],
    });
  const request: OpenRequest = { id, type: 'question', callId: '', allow: undefined, reject: undefined };
  return unchanged(
    { ...state, requests: new Map([...state.requests, [requestId, request]]) },
    {
      events: [
        {
          type: 'question',
          requestId,
          question: { message: stringOf(params.message), schema: objectOf(params.requestedSchema) },
        },
      ],
    },
  );
}

function refused(state: AcpState, id: unknown, code: number, message: string): AcpStep {
  return unchanged(state, { actions: [{ type: 'error', id, error: { code, message } }] });
}

function cancelled({ id, type }: OpenRequest): AcpAction {
  const result = type === 'permission' ? { outcome: { outcome: 'cancelled' } } : { action: 'cancel' };
  return { type: 'result', id, result };
}

function selected({ id }: OpenRequest, optionId: string): AcpAction {
  return { type: 'result', id, result: { outcome: { outcome: 'selected', optionId } } };
}

function withCall(state: AcpState, call: CallState): AcpState {
  state.calls.set(call.fields.callId, call);
  return state;
}

/** The id of a call, which is part of many events; empty if the agent has not sent a usable one. */
function callIdOf({ toolCallId }: JsonObject): string {
  const callId = stringOf(toolCallId);
  return callId.length <= MAX_ID ? callId : '';
}

const MAX_ID = 1_000;

function without<T>(map: ReadonlyMap<string, T>, key: string): ReadonlyMap<string, T> {
  return new Map([...map].filter(([other]) => other !== key));
}

/** Ids of both sides are independent, and 1 and "1" differ. */
export function keyOf(id: unknown): string {
  return JSON.stringify(id ?? null);
}

function unchanged(state: AcpState, rest: Partial<Omit<AcpStep, 'state'>> = {}): AcpStep {
  return { state, events: rest.events ?? [], actions: rest.actions ?? [], diffs: rest.diffs ?? NO_DIFFS };
}

const NO_DIFFS: AcpStep['diffs'] = new Map();

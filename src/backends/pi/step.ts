import {
  arrayOf,
  type JsonObject,
  numberOf,
  objectOf,
  parseObject,
  stringOf,
  withoutUndefined,
} from '../../base/index.ts';
import type { Cost, Failure, StopReason, Usage } from '../../llm/index.ts';
import type { ClientAnswer, ClientQuestion } from '../../tools/index.ts';
import type { CallStatus } from '../../worker/index.ts';
import type { AgentCall, AgentEvent, AgentInput, AgentOutcome, PermissionReply } from '../agent-event.ts';
import { contentOf, type PiDirectories, textOf, toAgentCall, toToolOutput } from './calls.ts';
import { failureFrom } from './failure.ts';
import { GATE } from './gate.ts';

/** What is known about a session of pi. */
export interface PiState {
  readonly directories: PiDirectories;
  readonly bounds: PiBounds;
  /** What the gate reported when it was loaded; undefined before that. */
  readonly gate: { readonly cwd: string; readonly isTrusted: boolean } | undefined;
  readonly contextWindow: number | undefined;
  readonly turn: PiTurn | undefined;
  /** Open requests of pi by their ids. */
  readonly requests: ReadonlyMap<string, OpenRequest>;
  /** The calls of the turn by their ids. */
  readonly calls: ReadonlyMap<string, KnownCall>;
  /** The blocks of the current answer of which text was streamed. */
  readonly streamed: ReadonlySet<number>;
  /** Numbers the checks whether a prompt started a run. */
  readonly checks: number;
}

export interface PiBounds {
  readonly maxTurns?: number;
  /** In USD. */
  readonly budget?: number;
}

interface PiTurn {
  readonly type: 'prompt' | 'compaction' | 'own';
  /** Whether pi has accepted the command that started the turn. */
  readonly isAccepted: boolean;
  readonly isRunning: boolean;
  readonly isCancelled: boolean;
  /** Whether the prompt has become part of the conversation; later messages of the user are steering messages. */
  readonly isPrompted: boolean;
  /** Steering messages that pi has not yet accepted. */
  readonly unaccepted: number;
  /** Steering messages that are not yet part of the conversation. */
  readonly undelivered: number;
  readonly answers: number;
  readonly cost: number;
  /** The end of the last answer, if it failed. */
  readonly failure: Failure | undefined;
  readonly isAborted: boolean;
  readonly limit: Extract<AgentOutcome, { status: 'limited' }> | undefined;
}

type OpenRequest =
  | { readonly type: 'call'; readonly callId: string }
  | { readonly type: 'dialog'; readonly method: string };

interface KnownCall {
  readonly call: AgentCall;
  readonly decision?: PermissionReply['decision'];
}

/** A frame of pi, or what its user does. */
export type PiInput =
  | { readonly type: 'frame'; readonly frame: JsonObject }
  | { readonly type: 'prompt' | 'steer'; readonly input: AgentInput }
  | { readonly type: 'compact'; readonly instructions: string | undefined }
  | { readonly type: 'cancel' }
  | { readonly type: 'answer'; readonly requestId: string; readonly reply: PermissionReply }
  | { readonly type: 'reply'; readonly requestId: string; readonly answer: ClientAnswer };

export interface PiStep {
  readonly state: PiState;
  readonly events: readonly AgentEvent[];
  /** Commands and answers for pi. */
  readonly send: readonly JsonObject[];
}

export function initialState(directories: PiDirectories, bounds: PiBounds): PiState {
  return {
    directories,
    bounds,
    gate: undefined,
    contextWindow: undefined,
    turn: undefined,
    requests: new Map(),
    calls: new Map(),
    streamed: new Set(),
    checks: 0,
  };
}

/** Translates a frame to events, and what the user does to commands. Unknown frames have no effect. */
export function step(state: PiState, input: PiInput): PiStep {
  switch (input.type) {
    case 'frame':
      return FRAMES.get(stringOf(input.frame.type))?.(state, input.frame) ?? same(state);
    case 'prompt':
      return {
        state: { ...state, turn: newTurn('prompt'), calls: new Map() },
        events: [],
        // A run that an extension has just started must not make pi refuse the prompt.
        send: [{ id: 'prompt', type: 'prompt', streamingBehavior: 'followUp', ...promptFields(input.input) }],
      };
    case 'steer':
      return steer(state, input.input);
    case 'compact':
      return {
        state: { ...state, turn: newTurn('compaction') },
        events: [],
        send: [
          {
            id: 'compact',
            type: 'compact',
            ...withoutUndefined({ customInstructions: input.instructions }),
          },
        ],
      };
    case 'cancel':
      return cancel(state);
    case 'answer':
      return answer(state, input.requestId, input.reply);
    case 'reply':
      return reply(state, input.requestId, input.answer);
  }
}

function newTurn(type: PiTurn['type']): PiTurn {
  return {
    type,
    isAccepted: type === 'own',
    isRunning: false,
    isCancelled: false,
    isPrompted: type === 'own',
    unaccepted: 0,
    undelivered: 0,
    answers: 0,
    cost: 0,
    failure: undefined,
    isAborted: false,
    limit: undefined,
  };
}

function promptFields(input: AgentInput): JsonObject {
  const images = input.flatMap((part) =>
    part.type === 'image' ? [{ type: 'image', data: part.data, mimeType: part.mediaType }] : [],
  );
  return { message: textOf(input), ...(images.length === 0 ? {} : { images }) };
}

/**
 * Unlike the command `steer`, a prompt also takes effect if the run has ended. Its end may already be on the way to the caller; then
 * another turn follows.
 */
function steer(state: PiState, input: AgentInput): PiStep {
  if (state.turn?.isCancelled) return same(state);
  const turn = state.turn ?? newTurn('own');
  return {
    state: {
      ...state,
      turn: { ...turn, unaccepted: turn.unaccepted + 1, undelivered: turn.undelivered + 1 },
    },
    events: state.turn === undefined ? [{ type: 'turn-start' }] : [],
    send: [{ id: 'steer', type: 'prompt', streamingBehavior: 'steer', ...promptFields(input) }],
  };
}

function cancel(state: PiState): PiStep {
  const { turn, requests } = state;
  if (turn === undefined || turn.isCancelled) return same(state);
  return {
    state: { ...withTurn(state, { isCancelled: true }), requests: new Map() },
    events: withdrawn(requests),
    // pi queues a steering message some time after it has read it: not before `accepted` is the queue complete.
    send: [...(turn.unaccepted === 0 ? ABORT : []), ...refuseDialogs(requests)],
  };
}

/** Steering messages would otherwise be part of the next turn. */
const ABORT = [
  { id: 'clear', type: 'clear_queue' },
  { id: 'abort', type: 'abort' },
] as const;

/** pi itself ends the requests of the gate when it aborts; an earlier answer would let it continue. */
function refuseDialogs(requests: PiState['requests']): readonly JsonObject[] {
  return [...requests].flatMap(([id, { type }]) => (type === 'dialog' ? [refuseDialog(id)] : []));
}

function withdrawn(requests: PiState['requests']): readonly AgentEvent[] {
  return [...requests].map(([requestId, { type }]) => ({
    type: type === 'call' ? 'permission-withdrawn' : 'question-withdrawn',
    requestId,
  }));
}

function refuseDialog(id: string): JsonObject {
  return { type: 'extension_ui_response', id, cancelled: true };
}

function answer(state: PiState, requestId: string, given: PermissionReply): PiStep {
  const request = state.requests.get(requestId);
  if (request?.type !== 'call') return same(state);
  const known = state.calls.get(request.callId);
  const changed = given.decision === 'allow' ? given.arguments : undefined;
  const input = changed === undefined ? undefined : parseObject(changed);
  // Invalid arguments must not run as the original ones.
  const isInvalid = changed !== undefined && input === undefined;
  const decided: PermissionReply = isInvalid
    ? { decision: 'deny', reason: 'The changed arguments are not JSON.' }
    : given;
  const value =
    decided.decision === 'allow' ? { decision: 'allow', ...withoutUndefined({ input }) } : decided;
  return {
    state: {
      ...state,
      requests: without(state.requests, requestId),
      calls:
        known === undefined
          ? state.calls
          : new Map(state.calls).set(request.callId, {
              call: input === undefined ? known.call : { ...known.call, arguments: JSON.stringify(input) },
              decision: decided.decision,
            }),
    },
    events: [],
    send: [
      {
        type: 'extension_ui_response',
        id: requestId,
        value: JSON.stringify(value),
      },
    ],
  };
}

function reply(state: PiState, requestId: string, given: ClientAnswer): PiStep {
  const request = state.requests.get(requestId);
  if (request?.type !== 'dialog') return same(state);
  const value = given.action === 'accept' ? given.content.value : undefined;
  const answered = request.method === 'confirm' ? { confirmed: value === true } : { value: stringOf(value) };
  return {
    state: { ...state, requests: without(state.requests, requestId) },
    events: [],
    send: [
      value === undefined
        ? refuseDialog(requestId)
        : { type: 'extension_ui_response', id: requestId, ...answered },
    ],
  };
}

type ReadFrame = (state: PiState, frame: JsonObject) => PiStep;

const FRAMES: ReadonlyMap<string, ReadFrame> = new Map<string, ReadFrame>([
  ['response', readResponse],
  ['extension_ui_request', readDialog],
  ['agent_start', readRunStart],
  ['agent_settled', (state) => endIfSettled(withTurn(state, { isRunning: false }))],
  ['message_start', readMessageStart],
  ['message_update', readDelta],
  ['message_end', readMessageEnd],
  ['tool_execution_update', readCallUpdate],
  ['tool_execution_end', readCallEnd],
  ['auto_retry_start', readRetry],
  ['compaction_start', readCompactionStart],
  ['compaction_end', readCompactionEnd],
]);

function readResponse(state: PiState, frame: JsonObject): PiStep {
  const { turn } = state;
  const isDone = frame.success === true;
  const data = objectOf(frame.data);
  if (frame.command === 'get_state' && isDone) return readState(state, stringOf(frame.id), data);
  if (frame.command === 'set_model' && isDone)
    return same({ ...state, contextWindow: numberOf(data.contextWindow) });
  if (turn === undefined) return same(state);
  if (frame.id === 'prompt' && !turn.isAccepted)
    return isDone ? accepted(withTurn(state, { isAccepted: true })) : refused(state, frame);
  if (frame.id === 'steer' && turn.unaccepted > 0) {
    const unaccepted = turn.unaccepted - 1;
    if (isDone) return accepted(withTurn(state, { unaccepted }));
    return endIfSettled(withTurn(state, { unaccepted, undelivered: Math.max(0, turn.undelivered - 1) }));
  }
  if (frame.id !== 'compact' || turn.type !== 'compaction') return same(state);
  return isDone ? endTurn(state) : refused(state, frame);
}

/**
 * pi accepted a message. That a run follows is not certain: it may have been a command of an extension. A cancellation before this
 * moment had no effect on the run.
 */
function accepted(state: PiState): PiStep {
  const checks = state.checks + 1;
  return {
    state: { ...state, checks },
    events: [],
    send: [
      ...(state.turn?.isCancelled && state.turn.unaccepted === 0 ? ABORT : []),
      { id: `check-${checks}`, type: 'get_state' },
    ],
  };
}

function refused(state: PiState, { error }: JsonObject): PiStep {
  return endTurn(withTurn(state, { failure: failureFrom(stringOf(error)) }));
}

function readState(state: PiState, id: string, data: JsonObject): PiStep {
  const contextWindow = numberOf(objectOf(data.model).contextWindow);
  const known = contextWindow === undefined ? state : { ...state, contextWindow };
  return id === `check-${state.checks}` && data.isStreaming === false ? endIfSettled(known) : same(known);
}

/** Ends the turn unless pi works, or may start to work for a message that it has not yet accepted. */
function endIfSettled(state: PiState): PiStep {
  const { turn } = state;
  const isSettled =
    turn !== undefined &&
    turn.type !== 'compaction' &&
    turn.isAccepted &&
    !turn.isRunning &&
    turn.unaccepted === 0;
  return isSettled ? endTurn(state) : same(state);
}

function endTurn(state: PiState): PiStep {
  const { turn, requests } = state;
  if (turn === undefined) return same(state);
  return {
    state: { ...state, turn: undefined, requests: new Map() },
    events: [...withdrawn(requests), { type: 'turn-end', outcome: outcomeOf(turn) }],
    send: refuseDialogs(requests),
  };
}

function outcomeOf({ isCancelled, limit, failure, isAborted }: PiTurn): AgentOutcome {
  if (isCancelled) return { status: 'cancelled' };
  if (limit !== undefined) return limit;
  if (failure !== undefined) return { status: 'failed', failure };
  return { status: isAborted ? 'cancelled' : 'finished' };
}

/** Extensions of the user can start a run without a prompt. */
function readRunStart(state: PiState): PiStep {
  const { turn } = state;
  if (turn !== undefined) return same(withTurn(state, { isRunning: true }));
  return {
    state: { ...state, turn: { ...newTurn('own'), isRunning: true }, calls: new Map() },
    events: [{ type: 'turn-start' }],
    send: [],
  };
}

function readMessageStart(state: PiState, frame: JsonObject): PiStep {
  const { role } = objectOf(frame.message);
  if (role === 'assistant') return same({ ...state, streamed: new Set() });
  const { turn } = state;
  if (role !== 'user' || turn === undefined) return same(state);
  if (!turn.isPrompted) return same(withTurn(state, { isPrompted: true }));
  if (turn.undelivered === 0) return same(state);
  return {
    state: withTurn(state, { undelivered: turn.undelivered - 1 }),
    events: [{ type: 'steered' }],
    send: [],
  };
}

function readDelta(state: PiState, frame: JsonObject): PiStep {
  const { type, contentIndex, delta } = objectOf(frame.assistantMessageEvent);
  const kind = type === 'text_delta' ? 'text' : type === 'thinking_delta' ? 'thinking' : undefined;
  const text = stringOf(delta);
  if (kind === undefined || text === '') return same(state);
  const index = numberOf(contentIndex) ?? 0;
  // Most deltas continue a block: the state stays the same.
  const next = state.streamed.has(index) ? state : { ...state, streamed: new Set(state.streamed).add(index) };
  return { state: next, events: [{ type: kind, text }], send: [] };
}

function readMessageEnd(state: PiState, frame: JsonObject): PiStep {
  const message = objectOf(frame.message);
  if (message.role !== 'assistant') return same(state);
  const { usage, cost, tokens } = usageOf(objectOf(message.usage));
  const stop = stringOf(message.stopReason);
  const isBroken = stop === 'error' || stop === 'aborted';
  const blocks = arrayOf(message.content).map(objectOf);
  const calls = isBroken ? [] : blocks.filter(({ type }) => type === 'toolCall').map(callOf(state));
  const { answers = 0, cost: spent = 0 } = state.turn ?? {};
  const next = withTurn(
    { ...state, streamed: new Set(), calls: withCalls(state.calls, calls) },
    {
      answers: answers + (isBroken ? 0 : 1),
      cost: spent + (cost?.total ?? 0),
      failure: stop === 'error' ? failureFrom(stringOf(message.errorMessage)) : undefined,
      isAborted: stop === 'aborted',
    },
  );
  return {
    state: next,
    events: [
      ...unstreamed(blocks, state.streamed),
      ...(isBroken ? [] : [{ type: 'answer-end', stopReason: stopReasonOf(message) } as const]),
      ...(usage === undefined ? [] : [{ type: 'usage', usage, ...withoutUndefined({ cost }) } as const]),
      ...(tokens === undefined || isBroken ? [] : [contextEvent(tokens, state.contextWindow)]),
      ...calls.map((call) => ({ type: 'call', call }) as const),
    ],
    send: [],
  };
}

/** Some providers do not stream; then an answer has its text only at its end. */
function unstreamed(blocks: readonly JsonObject[], streamed: ReadonlySet<number>): readonly AgentEvent[] {
  return blocks.flatMap((block, index): readonly AgentEvent[] => {
    if (streamed.has(index) || (block.type !== 'text' && block.type !== 'thinking')) return [];
    const text = stringOf(block[block.type]);
    return text === '' ? [] : [{ type: block.type, text }];
  });
}

/** Whether the tool is pi's own is known when the gate asks; until then it is assumed. */
function callOf({ directories }: PiState): (block: JsonObject) => AgentCall {
  return ({ id, name, arguments: input }) =>
    toAgentCall(
      { callId: stringOf(id), name: stringOf(name), input: objectOf(input), isBuiltin: true },
      directories,
    );
}

function withCalls(known: PiState['calls'], calls: readonly AgentCall[]): PiState['calls'] {
  return calls.length === 0
    ? known
    : new Map([...known, ...calls.map((call) => [call.callId, { call }] as const)]);
}

function contextEvent(tokens: number, window: number | undefined): AgentEvent {
  return { type: 'context', tokens, ...withoutUndefined({ window }) };
}

/** pi counts cached tokens apart. It reports 0 for what it does not know. */
function usageOf({ input, output, cacheRead, cacheWrite, reasoning, totalTokens, cost }: JsonObject): {
  readonly usage?: Usage;
  readonly cost?: Cost;
  readonly tokens?: number;
} {
  const [fresh = 0, made = 0, read = 0, written = 0] = [input, output, cacheRead, cacheWrite].map(numberOf);
  const total = numberOf(totalTokens) || fresh + made + read + written;
  if (total === 0) return {};
  const prices = objectOf(cost);
  const price = (name: keyof Cost): number => numberOf(prices[name]) ?? 0;
  return {
    usage: {
      inputTokens: fresh + read + written,
      outputTokens: made,
      totalTokens: total,
      cacheReadInputTokens: read,
      cacheCreationInputTokens: written,
      ...withoutUndefined({ reasoningTokens: numberOf(reasoning) }),
    },
    tokens: total,
    ...(price('total') > 0 && {
      cost: {
        input: price('input'),
        output: price('output'),
        cacheRead: price('cacheRead'),
        cacheWrite: price('cacheWrite'),
        total: price('total'),
      },
    }),
  };
}

function stopReasonOf({ stopReason, rawStopReason }: JsonObject): StopReason {
  return RAW_STOPS[stringOf(rawStopReason)] ?? STOPS[stringOf(stopReason)] ?? 'other';
}

const STOPS: Readonly<Record<string, StopReason>> = {
  stop: 'end-turn',
  length: 'max-tokens',
  toolUse: 'tool-use',
};

const RAW_STOPS: Readonly<Record<string, StopReason>> = {
  refusal: 'refusal',
  stop_sequence: 'stop-sequence',
  content_filter: 'content-filter',
  model_context_window_exceeded: 'context-full',
};

function readCallUpdate(state: PiState, frame: JsonObject): PiStep {
  const callId = stringOf(frame.toolCallId);
  const text = textOf(contentOf(objectOf(frame.partialResult).content));
  if (text === '' || !state.calls.has(callId)) return same(state);
  return { state, events: [{ type: 'call-update', callId, text }], send: [] };
}

function readCallEnd(state: PiState, frame: JsonObject): PiStep {
  const known = state.calls.get(stringOf(frame.toolCallId));
  if (known === undefined) return same(state);
  const { call } = known;
  const isError = frame.isError === true;
  return {
    state: { ...state, calls: without(state.calls, call.callId) },
    events: [
      {
        type: 'call-end',
        callId: call.callId,
        status: statusOf(known, isError, state.turn?.isCancelled === true),
        output: toToolOutput(call, objectOf(frame.result), isError),
      },
    ],
    send: [],
  };
}

function statusOf({ decision }: KnownCall, isError: boolean, isCancelled: boolean): CallStatus {
  if (!isError) return 'done';
  if (decision === 'deny') return 'denied';
  return isCancelled || decision === 'cancel' ? 'interrupted' : 'failed';
}

function readRetry(state: PiState, frame: JsonObject): PiStep {
  const { attempt, maxAttempts, delayMs, errorMessage } = frame;
  return {
    state,
    events: [
      {
        type: 'retry',
        attempt: numberOf(attempt) ?? 1,
        maxAttempts: numberOf(maxAttempts) ?? 1,
        delayMs: numberOf(delayMs) ?? 0,
        failure: failureFrom(stringOf(errorMessage)),
      },
    ],
    send: [],
  };
}

/** A cancellation before this moment had no effect on the compaction. */
function readCompactionStart(state: PiState): PiStep {
  return { state, events: [], send: state.turn?.isCancelled ? ABORT : [] };
}

function readCompactionEnd(state: PiState, frame: JsonObject): PiStep {
  const { summary, tokensBefore, estimatedTokensAfter, usage: used } = objectOf(frame.result);
  if (typeof summary !== 'string') return same(state);
  const { usage, cost } = usageOf(objectOf(used));
  const tokens = numberOf(estimatedTokensAfter);
  return {
    state: withTurn(state, { cost: (state.turn?.cost ?? 0) + (cost?.total ?? 0) }),
    events: [
      ...(usage === undefined ? [] : [{ type: 'usage', usage, ...withoutUndefined({ cost }) } as const]),
      { type: 'compacted', summary, ...withoutUndefined({ tokensBefore: numberOf(tokensBefore) }) },
      ...(tokens === undefined ? [] : [contextEvent(tokens, state.contextWindow)]),
    ],
    send: [],
  };
}

/** A dialog of an extension: of the gate, or of one of the user. The others only display something. */
function readDialog(state: PiState, frame: JsonObject): PiStep {
  const id = stringOf(frame.id);
  const method = stringOf(frame.method);
  if (method === 'setStatus' && frame.statusKey === GATE)
    return readGateMessage(state, objectOf(parseObject(stringOf(frame.statusText))));
  if (method === 'input' && frame.title === GATE)
    return readGateRequest(state, id, objectOf(parseObject(stringOf(frame.placeholder))));
  const question = questionOf(method, frame);
  if (question === undefined) return same(state);
  const { turn } = state;
  if (turn === undefined || turn.isCancelled) return { state, events: [], send: [refuseDialog(id)] };
  return {
    state: { ...state, requests: new Map(state.requests).set(id, { type: 'dialog', method }) },
    events: [{ type: 'question', requestId: id, question }],
    send: [],
  };
}

function readGateMessage(state: PiState, { type, cwd, isTrusted, callId }: JsonObject): PiStep {
  if (type === 'ready')
    return same({
      ...state,
      gate: { cwd: stringOf(cwd), isTrusted: isTrusted !== false },
      // pi resolves paths against the real directory; `..` in a linked one leads elsewhere.
      directories: { ...state.directories, cwd: stringOf(cwd) },
    });
  if (type !== 'running' || !state.calls.has(stringOf(callId))) return same(state);
  return { state, events: [{ type: 'call-start', callId: stringOf(callId) }], send: [] };
}

function readGateRequest(state: PiState, id: string, request: JsonObject): PiStep {
  const { turn } = state;
  if (request.type === 'next-turn') return continueTurn(state, id);
  if (request.type !== 'call' || turn === undefined || turn.isCancelled)
    return { state, events: [], send: [refuseDialog(id)] };
  const callId = stringOf(request.callId);
  const call = toAgentCall(
    {
      callId,
      name: stringOf(request.name),
      input: objectOf(request.input),
      isBuiltin: request.isBuiltin === true,
    },
    state.directories,
  );
  return {
    state: {
      ...state,
      requests: new Map(state.requests).set(id, { type: 'call', callId }),
      calls: new Map(state.calls).set(callId, { call }),
    },
    events: [{ type: 'permission', request: { requestId: id, call } }],
    send: [],
  };
}

/** The results of the calls are complete, and the next request to the model would follow. */
function continueTurn(state: PiState, id: string): PiStep {
  const { turn, bounds } = state;
  const limit = turn === undefined ? undefined : limitReached(bounds, turn);
  if (turn?.isCancelled || limit !== undefined)
    return { state: withTurn(state, { limit }), events: [], send: [refuseDialog(id)] };
  const value = JSON.stringify({ decision: 'allow' });
  return { state, events: [], send: [{ type: 'extension_ui_response', id, value }] };
}

function limitReached({ maxTurns, budget }: PiBounds, { answers, cost }: PiTurn): PiTurn['limit'] {
  if (maxTurns !== undefined && answers >= maxTurns) {
    const message = `the run has reached its limit of ${maxTurns} ${maxTurns === 1 ? 'turn' : 'turns'}`;
    return { status: 'limited', limit: 'max-turns', message };
  }
  if (budget === undefined || cost < budget) return undefined;
  return { status: 'limited', limit: 'budget', message: `the run has reached its budget of $${budget}` };
}

/** The form for a dialog; undefined if it only displays something. */
function questionOf(method: string, frame: JsonObject): ClientQuestion | undefined {
  const title = stringOf(frame.title);
  const field = (value: JsonObject): JsonObject => ({
    type: 'object',
    properties: { value: { title, ...value } },
    required: ['value'],
  });
  switch (method) {
    case 'select':
      return {
        message: title,
        schema: field({ type: 'string', enum: arrayOf(frame.options).map(stringOf) }),
      };
    case 'confirm':
      return { message: `${title}\n${stringOf(frame.message)}`.trim(), schema: field({ type: 'boolean' }) };
    case 'input':
      return { message: title, schema: field({ type: 'string', description: stringOf(frame.placeholder) }) };
    case 'editor':
      return { message: title, schema: field({ type: 'string', default: stringOf(frame.prefill) }) };
    default:
      return undefined;
  }
}

function same(state: PiState): PiStep {
  return { state, events: [], send: [] };
}

function withTurn(state: PiState, change: Partial<PiTurn>): PiState {
  return state.turn === undefined ? state : { ...state, turn: { ...state.turn, ...change } };
}

function without<Value>(map: ReadonlyMap<string, Value>, key: string): ReadonlyMap<string, Value> {
  const rest = new Map(map);
  rest.delete(key);
  return rest;
}

import type {
  BlockStop,
  BlockDelta,
  BlockHead,
  DeltaContent,
  Failure,
  LlmEvent,
  Seal,
  StopReason,
  Trace,
  Usage,
} from './event.ts';

/**
 * The state of an answer while it streams in. Every provider's step state extends Answer; only the functions in this file
 * open and close blocks, which is why every stream is balanced.
 *
 * The functions are pure except for `out`: they return a new state and push events on the list that the step returns.
 */
export interface Answer {
  /** Generates ids for calls that have none; differs from request to request. */
  readonly seed: string;
  readonly started: boolean;
  readonly open: readonly OpenBlock[];
  readonly nextIndex: number;
  readonly callIds: readonly string[];
  readonly usage: Usage;
  /** Set by the provider's finish marker. Without it, the stream was cut off. */
  readonly stop: Stop | undefined;
  /** No more data can follow: the reader need not wait for the connection to close. */
  readonly done: boolean;
}

export interface Stop {
  readonly reason: StopReason;
  readonly providerReason?: string;
}

export interface OpenBlock {
  /** The provider's key for the block, used to assign deltas. */
  readonly key: number | string;
  readonly index: number;
  readonly head: BlockHead;
  /** Whether a delta was emitted; some providers repeat the whole value at the end. */
  readonly filled: boolean;
}

export type StepEvent = LlmEvent | Trace;

export type Step<State extends Answer> = readonly [State, readonly StepEvent[]];

export function newAnswer(seed: string): Answer {
  return {
    seed,
    started: false,
    open: [],
    nextIndex: 0,
    callIds: [],
    usage: {},
    stop: undefined,
    done: false,
  };
}

export function startAnswer<S extends Answer>(
  state: S,
  out: StepEvent[],
  info: { id?: string; model?: string },
): S {
  if (state.started) return state;
  out.push({
    type: 'status',
    status: 'started',
    ...(info.id ? { id: info.id } : {}),
    ...(info.model ? { model: info.model } : {}),
  });
  return { ...state, started: true };
}

export function findBlock(state: Answer, key: number | string): OpenBlock | undefined {
  // Newest first: deltas usually belong to the block opened last.
  for (let i = state.open.length - 1; i >= 0; i--) if (state.open[i]?.key === key) return state.open[i];
  return undefined;
}

/**
 * Opens a block. A block that is already open under the same key is aborted as restarted. A tool call without an id, or
 * with the id of an earlier call of this answer, gets a generated id, because results refer to calls by id.
 */
export function openBlock<S extends Answer>(
  state: S,
  out: StepEvent[],
  key: number | string,
  requestedHead: BlockHead,
): S {
  const before = findBlock(state, key) ? abortBlock(state, out, key, 'restarted') : state;
  const index = before.nextIndex;
  const head =
    requestedHead.blockType === 'tool-use'
      ? { ...requestedHead, id: uniqueId(before, index, requestedHead.id) }
      : requestedHead;
  out.push({ type: 'block-start', index, ...head });
  return {
    ...before,
    open: [...before.open, { key, index, head, filled: false }],
    nextIndex: index + 1,
    callIds: head.blockType === 'tool-use' ? [...before.callIds, head.id] : before.callIds,
  };
}

/** Providers pad their streams with empty deltas, which must not open a block. */
export function isEmptyDelta(delta: DeltaContent): boolean {
  return delta.type === 'input-json' ? delta.json === '' : delta.text === '';
}

/** Emits a delta of a block. Opens the block first if the provider sent no start. */
export function appendToBlock<S extends Answer>(
  state: S,
  out: StepEvent[],
  key: number | string,
  delta: DeltaContent,
  headIfNew: BlockHead,
): S {
  const block = findBlock(state, key);
  if (block === undefined)
    return appendToBlock(openBlock(state, out, key, headIfNew), out, key, delta, headIfNew);
  out.push(deltaEvent(block.index, delta));
  return block.filled ? state : replaceBlock(state, { ...block, filled: true });
}

export function deltaEvent(index: number, delta: DeltaContent): BlockDelta {
  return { type: 'block-delta', index, delta };
}

export function closeBlock<S extends Answer>(
  state: S,
  out: StepEvent[],
  key: number | string,
  extra: Ending = {},
): S {
  const block = findBlock(state, key);
  if (block === undefined) return state;
  out.push(stopEvent(block, extra));
  return withoutBlock(state, block);
}

interface Ending {
  readonly seal?: Seal;
  readonly stopReason?: StopReason;
}

function stopEvent({ index, head }: OpenBlock, ending: Ending): BlockStop {
  return { type: 'block-stop', index, ...head, ...ending };
}

export function abortBlock<S extends Answer>(
  state: S,
  out: StepEvent[],
  key: number | string,
  reason: string,
): S {
  const block = findBlock(state, key);
  if (block === undefined) return state;
  out.push({ type: 'block-abort', index: block.index, blockType: block.head.blockType, reason });
  return withoutBlock(state, block);
}

export function replaceBlock<S extends Answer>(state: S, block: OpenBlock): S {
  return { ...state, open: state.open.map((old) => (old.index === block.index ? block : old)) };
}

/** Merges usage field by field: the latest known value wins. */
export function addUsage<S extends Answer>(state: S, usage: Usage): S {
  return { ...state, usage: { ...state.usage, ...usage } };
}

/** Creates a Usage from the known fields. */
export function usageFrom(fields: { readonly [Name in keyof Usage]-?: number | undefined }): Usage {
  const usage: { -readonly [Name in keyof Usage]: Usage[Name] } = {};
  if (fields.inputTokens !== undefined) usage.inputTokens = fields.inputTokens;
  if (fields.outputTokens !== undefined) usage.outputTokens = fields.outputTokens;
  if (fields.totalTokens !== undefined) usage.totalTokens = fields.totalTokens;
  if (fields.cacheReadInputTokens !== undefined) usage.cacheReadInputTokens = fields.cacheReadInputTokens;
  if (fields.cacheCreationInputTokens !== undefined) {
    usage.cacheCreationInputTokens = fields.cacheCreationInputTokens;
  }
  if (fields.reasoningTokens !== undefined) usage.reasoningTokens = fields.reasoningTokens;
  return usage;
}

/** The events that end a finished answer: a stop for every open block, usage, `completed`. */
export function completionEvents(state: Answer, stop: Stop): readonly LlmEvent[] {
  return [
    ...state.open.map((block) => stopEvent(block, { stopReason: stop.reason })),
    ...usageEvents(state.usage),
    {
      type: 'status',
      status: 'completed',
      stopReason: stop.reason,
      ...(stop.providerReason ? { providerReason: stop.providerReason } : {}),
    },
  ];
}

/** The events that end a failed answer: the error, an abort for every open block, usage, `failed`. */
export function failureEvents(state: Answer, failure: Failure): readonly LlmEvent[] {
  return [
    { type: 'error', ...failure },
    ...abortAll(state, failure.message),
    ...usageEvents(state.usage),
    { type: 'status', status: 'failed' },
  ];
}

/** The events that end an answer that the caller cancelled. */
export function cancellationEvents(state: Answer): readonly LlmEvent[] {
  return [
    ...abortAll(state, 'cancelled'),
    ...usageEvents(state.usage),
    { type: 'status', status: 'cancelled' },
  ];
}

function abortAll(state: Answer, reason: string): readonly LlmEvent[] {
  return state.open.map(({ index, head }) => ({
    type: 'block-abort',
    index,
    blockType: head.blockType,
    reason,
  }));
}

function usageEvents(usage: Usage): readonly LlmEvent[] {
  if (Object.keys(usage).length === 0) return [];
  const total =
    usage.totalTokens === undefined && usage.inputTokens !== undefined && usage.outputTokens !== undefined
      ? { totalTokens: usage.inputTokens + usage.outputTokens }
      : {};
  return [{ type: 'usage', ...usage, ...total }];
}

function uniqueId(state: Answer, index: number, id: string): string {
  return id !== '' && !state.callIds.includes(id) ? id : `call_${state.seed}_${index}`;
}

function withoutBlock<S extends Answer>(state: S, block: OpenBlock): S {
  return { ...state, open: state.open.filter((old) => old.index !== block.index) };
}

export function trace(what: string, frame: unknown): Trace {
  return { type: 'trace', what, preview: (JSON.stringify(frame) ?? '').slice(0, 512) };
}

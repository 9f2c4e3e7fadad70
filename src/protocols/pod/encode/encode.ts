import { withoutUndefined } from '../../../base/index.ts';
import type { PodEvent, PodEventOf } from '../../../pod/index.ts';
import { callArguments, historyItems, richContent, textOf } from './items.ts';
import { type WireLine, toAll, toExtended, toPlain } from './wire-lines.ts';
import { isHeld, type OpenBlock, type ProjectionState } from './projection-state.ts';
import { wireSettings } from './settings.ts';
import { wireApproval, wireBackground, wireQueued } from './snapshot.ts';
import { statusLines } from './status.ts';
import type { ExtraEvents, TurnResult, WireUsage } from '../wire.ts';

type Encoder<T extends PodEvent['type']> = (
  event: PodEventOf<T>,
  projection: ProjectionState,
) => readonly WireLine[];

const NOTHING: readonly WireLine[] = [];
/** The protocol has no event for it. */
const silent = (): readonly WireLine[] => NOTHING;

/** Encodes an event, given the projection state before it. The table has an entry for every event type. */
export function encode(event: PodEvent, projection: ProjectionState): readonly WireLine[] {
  return encodeWith(event, projection);
}

function encodeWith<T extends PodEvent['type']>(
  event: PodEventOf<T> & { readonly type: T },
  projection: ProjectionState,
): readonly WireLine[] {
  const encodeEvent: Encoder<T> = ENCODERS[event.type];
  return encodeEvent(event, projection);
}

const ENCODERS: { readonly [T in PodEvent['type']]: Encoder<T> } = {
  ping: silent,
  status: silent,
  // Errors are reported at the end of the run, or as a retry.
  error: silent,
  usage: (event) => {
    const { input_tokens, output_tokens, ...more } = wireUsage(event);
    const seed = withoutUndefined({ input_tokens, output_tokens });
    return [toPlain('usage', seed), toExtended('usage', { ...seed, ...more })];
  },

  'block-start': (event) =>
    event.blockType === 'tool-use' ? [toAll('tool_call_start', { id: event.id, name: event.name })] : NOTHING,
  'block-delta': ({ index, delta }, projection) => {
    const head = projection.blocks.get(index)?.head;
    if (head?.blockType === 'text' && delta.type === 'text')
      return [toAll('text_delta', { text: delta.text })];
    if (head?.blockType === 'thinking' && delta.type === 'thinking')
      return [toAll('thinking_delta', { text: delta.text })];
    if (head?.blockType === 'tool-use' && delta.type === 'input-json')
      return [toAll('tool_call_args_delta', { id: head.id, json: delta.json })];
    return NOTHING;
  },
  'block-stop': (event, projection) => {
    const text = projection.blocks.get(event.index)?.pieces.join('') ?? '';
    if (event.blockType === 'text') return [toAll('text_done', { text })];
    if (event.blockType === 'thinking') return [toAll('thinking_done', { text })];
    if (event.blockType !== 'tool-use') return NOTHING;
    return [toAll('tool_call_done', { id: event.id, name: event.name, arguments: callArguments(text) })];
  },
  'block-abort': ({ index, reason }, projection) => aborted(projection.blocks.get(index), reason),

  'run-start': ({ runId, by, door, taskId }) => [
    toExtended('run_start', { run_id: runId, ...withoutUndefined({ by, door, task_id: taskId }) }),
  ],
  input: (event) => {
    const { origin, item, by, door, queueId } = event;
    // The text of the model that is kept from an incomplete answer was already sent.
    if (item.type !== 'message' || item.role !== 'user') return NOTHING;
    return [
      toExtended('user_message', {
        text: textOf(item.content),
        ...richContent(item.content),
        origin: origin === 'follow-up' ? 'follow_up' : origin,
        ...withoutUndefined({ by, door, queue_id: queueId }),
      }),
    ];
  },
  'turn-start': ({ turn }) => [toAll('turn_start', { turn })],
  'llm-end': (event, projection) =>
    isHeld(event) ? NOTHING : turnEnd(projection, event.outcome === 'completed' ? 'finished' : event.outcome),
  'tool-start': ({ call }, projection) => [
    ...heldTurnEnd(projection, 'finished'),
    toExtended('tool_start', {
      id: call.callId,
      name: call.name,
      arguments: call.arguments,
      title: call.title,
    }),
  ],
  'tool-update': ({ callId, text }) => [toExtended('tool_update', { id: callId, text })],
  'tool-end': ({ callId, output, status }) => {
    const result = { id: callId, output: textOf(output.content), is_error: output.isError };
    return [
      toPlain('tool_result', result),
      toExtended('tool_result', { ...result, status, ...richContent(output.content) }),
    ];
  },
  // The results of calls that were never started, because their turn was abandoned, appear only here.
  'turn-end': ({ results }, projection) => [
    ...heldTurnEnd(projection, 'finished'),
    ...results.flatMap((item) =>
      item.type === 'tool-result' && !projection.answered.has(item.callId)
        ? [toAll('tool_result', { id: item.callId, output: textOf(item.content), is_error: item.isError })]
        : [],
    ),
  ],
  'retry-start': ({ attempt, maxAttempts, delayMs, continuation, failure }) => [
    toExtended('retry', {
      attempt,
      max_attempts: maxAttempts,
      delay_ms: delayMs,
      continuation,
      message: failure.message,
    }),
  ],
  'retry-end': ({ attempt, success, failure }) => [
    toExtended('retry_end', { attempt, success, ...withoutUndefined({ message: failure?.message }) }),
  ],
  'compaction-start': ({ reason }) => [toExtended('compact_start', { reason })],
  'compaction-end': ({ reason, result }) => [
    toExtended('compact_end', { reason, status: result.status, ...compacted(result) }),
  ],
  'run-end': (event, projection) => [
    ...[...projection.blocks.values()].flatMap((block) => aborted(block, 'the run ended')),
    ...(projection.phase === 'over' ? NOTHING : turnEnd(projection, endOfTurn(event, projection))),
    ...runError(event),
    toExtended('run_end', runEnd(event)),
  ],

  state: ({ state }, { podId, name }) => statusLines({ podId, name, state }),
  queued: (event) => [toExtended('queued', wireQueued(event))],
  unqueued: ({ queueIds, reason }) => [
    toExtended('unqueued', { queue_ids: queueIds, ...withoutUndefined({ reason }) }),
  ],
  'approval-request': ({ approval }) => [toExtended('approval_request', wireApproval(approval))],
  'approval-response': ({ approvalId, status, at, by, door, comment, updatedArguments, remember }) => [
    toExtended('approval_resolved', {
      approval_id: approvalId,
      status,
      at,
      ...withoutUndefined({ by, door, comment, updated_arguments: updatedArguments, remember }),
    }),
  ],
  settings: ({ settings, by, door }) => [
    toExtended('settings', { settings: wireSettings(settings), ...withoutUndefined({ by, door }) }),
  ],
  todos: ({ items }) => [toExtended('todos', { items })],
  title: ({ title }) => [toExtended('title', { title })],
  branched: ({ from, items, turn }) => [toExtended('branched', { from, items: historyItems(items), turn })],
  // An extra of the session file: clients learn of changed files by the results of calls, and of restored ones by `rewound`.
  'file-change': () => NOTHING,
  rewound: ({ target, parts, files, by, door }) => [
    toExtended('rewound', { target, parts, files, ...withoutUndefined({ by, door }) }),
  ],
  'shell-start': ({ shellId, command, private: isPrivate, by, door }) => [
    toExtended('shell_start', {
      shell_id: shellId,
      command,
      private: isPrivate,
      ...withoutUndefined({ by, door }),
    }),
  ],
  'shell-update': ({ shellId, text }) => [toExtended('shell_update', { shell_id: shellId, text })],
  'shell-end': ({ shellId, command, status, output, private: isPrivate }) => [
    toExtended('shell_end', {
      shell_id: shellId,
      command,
      status,
      output: textOf(output.content),
      is_error: output.isError,
      private: isPrivate,
    }),
  ],
  'background-start': (command) => [toExtended('background_start', wireBackground(command))],
  'background-end': ({ id, command, status, message }) => [
    toExtended('background_end', { id, command, status, message }),
  ],
  'client-call': ({ callId, name, arguments: args }) => [
    toExtended('client_call', { call_id: callId, name, arguments: args }),
  ],
  'client-cancel': ({ callId }) => [toExtended('client_cancel', { call_id: callId })],
  recovered: ({ lost }) => [toExtended('recovered', { lost: { from: lost.from, to: lost.to } })],
  commanded: ({ command, by, door }, projection) => [
    toExtended('commanded', { command, by, door }),
    ...(command === 'cancel' ? heldTurnEnd(projection, 'cancelled') : NOTHING),
  ],
  closed: ({ by, door }) => [toExtended('closed', withoutUndefined({ by, door }))],
};

function heldTurnEnd(projection: ProjectionState, result: TurnResult): readonly WireLine[] {
  return projection.phase === 'held' ? turnEnd(projection, result) : NOTHING;
}

/** Clients without extras know only `finished` and `paused`. */
function turnEnd({ turn }: ProjectionState, result: TurnResult): readonly WireLine[] {
  if (result === 'finished' || result === 'paused') return [toAll('turn_end', { turn, result })];
  return [toPlain('turn_end', { turn, result: 'finished' }), toExtended('turn_end', { turn, result })];
}

/** The result of a turn that was in progress when its run ended. */
function endOfTurn({ outcome }: PodEventOf<'run-end'>, { phase }: ProjectionState): TurnResult {
  if (outcome.status === 'paused' || outcome.status === 'cancelled' || outcome.status === 'failed')
    return outcome.status;
  // The process ended while an approval was pending: a decision still continues the turn.
  if (phase === 'held') return 'paused';
  return outcome.status === 'interrupted' ? 'interrupted' : 'finished';
}

/** One error per run that did not finish normally. Clients with extras get the details in `run_end`. */
function runError({ outcome }: PodEventOf<'run-end'>): readonly WireLine[] {
  switch (outcome.status) {
    case 'failed':
      return [toAll('error', { code: 'provider_error', message: outcome.failure.message })];
    case 'limited':
      return [toPlain('error', { code: 'internal', message: outcome.message })];
    case 'interrupted':
      return [toPlain('error', { code: 'internal', message: INTERRUPTED })];
    default:
      return NOTHING;
  }
}

const INTERRUPTED = 'the process ended during the run: check what its last calls did before you continue';

function runEnd({ runId, outcome, totals }: PodEventOf<'run-end'>): ExtraEvents['run_end'] {
  const message =
    outcome.status === 'failed'
      ? outcome.failure.message
      : outcome.status === 'limited'
        ? outcome.message
        : undefined;
  return {
    run_id: runId,
    result: outcome.status,
    ...withoutUndefined({ message }),
    turns: totals.turns,
    tool_calls: totals.toolCalls,
    input_tokens: totals.inputTokens,
    output_tokens: totals.outputTokens,
    ...withoutUndefined({ cost: totals.cost }),
  };
}

function compacted(result: PodEventOf<'compaction-end'>['result']): Partial<ExtraEvents['compact_end']> {
  if (result.status === 'failed') return { message: result.failure.message };
  if (result.status !== 'compacted') return {};
  return {
    summary: result.summary,
    tokens_before: result.tokensBefore,
    tokens_after: result.tokensAfter,
  };
}

function aborted(block: OpenBlock | undefined, reason: string): readonly WireLine[] {
  const head = block?.head;
  if (head?.blockType === 'tool-use')
    return [toExtended('block_aborted', { type: 'tool_call', reason, id: head.id })];
  if (head?.blockType === 'text' || head?.blockType === 'thinking')
    return [toExtended('block_aborted', { type: head.blockType, reason })];
  return NOTHING;
}

function wireUsage(usage: PodEventOf<'usage'>): WireUsage {
  return withoutUndefined({
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    total_tokens: usage.totalTokens,
    cache_read_input_tokens: usage.cacheReadInputTokens,
    cache_creation_input_tokens: usage.cacheCreationInputTokens,
    reasoning_tokens: usage.reasoningTokens,
  });
}

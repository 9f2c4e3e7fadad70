import { arrayOf, type JsonObject, numberOf, stringOf } from '../../base/index.ts';
import type { PodFact } from '../../pod/index.ts';
import type { CompactionResult, InputOrigin, RunOutcome } from '../../worker/index.ts';
import {
  approvalIn,
  byIn,
  contentIn,
  NOTHING_USED,
  oneOf,
  ours,
  queuedIn,
  settingsIn,
  stateIn,
  textsIn,
  todosIn,
} from './wire-values.ts';

/** Lines that stand for one fact each, whatever came before them. */
export const FACTS: Readonly<Record<string, (data: JsonObject) => PodFact>> = {
  run_start: (data) => ({ type: 'run-start', runId: stringOf(data.run_id), ...byIn(data) }),
  run_end: (data) => {
    const cost = numberOf(data.cost);
    return {
      type: 'run-end',
      runId: stringOf(data.run_id),
      outcome: outcomeIn(data),
      totals: {
        ...NOTHING_USED,
        turns: numberOf(data.turns) ?? 0,
        toolCalls: numberOf(data.tool_calls) ?? 0,
        inputTokens: numberOf(data.input_tokens) ?? 0,
        outputTokens: numberOf(data.output_tokens) ?? 0,
        ...(cost === undefined ? {} : { cost }),
      },
    };
  },
  turn_start: (data) => ({ type: 'turn-start', turn: numberOf(data.turn) ?? 0 }),
  user_message: (data) => ({
    type: 'input',
    origin: oneOf(ORIGINS, ours(data.origin)) ?? 'prompt',
    item: { type: 'message', role: 'user', content: contentIn(data) },
    ...(typeof data.queue_id === 'string' ? { queueId: data.queue_id } : {}),
    ...byIn(data),
  }),
  status: (data) => ({ type: 'state', state: stateIn(data.detail) }),
  tool_update: (data) => ({ type: 'tool-update', callId: stringOf(data.id), text: stringOf(data.text) }),
  usage: (data) => {
    const [inputTokens, outputTokens] = [numberOf(data.input_tokens), numberOf(data.output_tokens)];
    const usage = {
      ...(inputTokens !== undefined && { inputTokens }),
      ...(outputTokens !== undefined && { outputTokens }),
    };
    return { type: 'llm-end', turn: 0, outcome: 'completed', items: [], usage };
  },
  retry: (data) => ({
    type: 'retry-start',
    attempt: numberOf(data.attempt) ?? 0,
    maxAttempts: numberOf(data.max_attempts) ?? 0,
    delayMs: numberOf(data.delay_ms) ?? 0,
    continuation: data.continuation === true,
    failure: { kind: 'provider', message: stringOf(data.message) },
  }),
  compact_start: (data) => ({ type: 'compaction-start', reason: oneOf(REASONS, data.reason) ?? 'manual' }),
  compact_end: (data) => ({ type: 'compaction-end', reason: 'manual', result: compactionIn(data) }),
  queued: (data) => ({ type: 'queued', ...queuedIn(data) }),
  unqueued: (data) => ({
    type: 'unqueued',
    queueIds: arrayOf(data.queue_ids).map(stringOf),
    ...(typeof data.reason === 'string' ? { reason: data.reason } : {}),
  }),
  approval_request: (data) => ({ type: 'approval-request', approval: approvalIn(data) }),
  approval_resolved: (data) => {
    const remember = oneOf(REMEMBER, data.remember);
    return {
      type: 'approval-response',
      approvalId: stringOf(data.approval_id),
      status: oneOf(SETTLED, data.status) ?? 'cancelled',
      at: stringOf(data.at),
      ...textsIn(data, { comment: 'comment', updatedArguments: 'updated_arguments' }),
      ...(remember === undefined ? {} : { remember }),
      ...byIn(data),
    };
  },
  settings: (data) => ({ type: 'settings', settings: settingsIn(data.settings), ...byIn(data) }),
  todos: (data) => ({ type: 'todos', items: todosIn(data.items) }),
  branched: ({ turn }) => ({ type: 'branched', from: null, items: [], turn: numberOf(turn) ?? 0 }),
  shell_start: (data) => ({
    type: 'shell-start',
    shellId: stringOf(data.shell_id),
    command: stringOf(data.command),
    private: data.private === true,
    ...byIn(data),
  }),
  shell_update: (data) => ({
    type: 'shell-update',
    shellId: stringOf(data.shell_id),
    text: stringOf(data.text),
  }),
  shell_end: (data) => ({
    type: 'shell-end',
    shellId: stringOf(data.shell_id),
    command: stringOf(data.command),
    status: oneOf(SHELL_ENDS, data.status) ?? 'done',
    output: {
      summary: '',
      content: [{ type: 'text', text: stringOf(data.output) }],
      isError: data.is_error === true,
    },
    private: data.private === true,
  }),
  recovered: () => ({ type: 'recovered', lost: { from: 0, to: 0 } }),
  commanded: (data) => ({
    type: 'commanded',
    command: data.command === 'cancel' ? 'cancel' : 'configure',
    by: stringOf(data.by),
    door: stringOf(data.door),
  }),
  closed: (data) => ({ type: 'closed', ...byIn(data) }),
};

const ORIGINS: readonly InputOrigin[] = ['prompt', 'steer', 'follow-up', 'continuation', 'shell'];
const REASONS = ['threshold', 'overflow', 'manual'] as const;
const SETTLED = ['approved', 'denied', 'expired', 'cancelled'] as const;
const REMEMBER = ['once', 'session', 'always'] as const;
const SHELL_ENDS = ['done', 'cancelled', 'interrupted'] as const;

function outcomeIn({ result, message }: JsonObject): RunOutcome {
  switch (result) {
    case 'failed':
      return { status: 'failed', failure: { kind: 'provider', message: stringOf(message) } };
    case 'limited':
      return { status: 'limited', limit: 'max-turns', message: stringOf(message) };
    case 'paused':
      return { status: 'paused', callIds: [] };
    case 'cancelled':
    case 'interrupted':
      return { status: result };
    default:
      return { status: 'finished' };
  }
}

function compactionIn(data: JsonObject): CompactionResult {
  switch (data.status) {
    case 'compacted': {
      const [tokensBefore, tokensAfter] = [
        numberOf(data.tokens_before) ?? 0,
        numberOf(data.tokens_after) ?? 0,
      ];
      return {
        status: 'compacted',
        summary: stringOf(data.summary),
        replaced: 0,
        tokensBefore,
        tokensAfter,
      };
    }
    case 'failed':
      return { status: 'failed', failure: { kind: 'provider', message: stringOf(data.message) } };
    default:
      return { status: data.status === 'cancelled' ? 'cancelled' : 'skipped' };
  }
}

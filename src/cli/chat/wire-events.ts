import { arrayOf, isObject, type JsonObject, numberOf, objectOf, stringOf } from '../../base/index.ts';
import type { PodLine } from '../../client/index.ts';
import type { Content, Item } from '../../llm/index.ts';
import {
  type Approval,
  DEFAULT_SETTINGS,
  type PodEvent,
  type PodFact,
  type PodSettings,
  type PodState,
  type Queued,
  type Snapshot,
} from '../../pod/index.ts';
import type { TodoItem } from '../../tools/index.ts';
import type { CallStatus, InputOrigin, RunOutcome, Totals } from '../../worker/index.ts';

/**
 * Lines of the Pod Protocol, with extras, as the events they came from. What the wire does not carry, such as diffs, is not
 * there; what a view does not need is left out.
 */
export class WireEvents {
  /** Blocks of text and thinking are not numbered on the wire: there is one of each at a time. */
  #open: 'text' | 'thinking' | undefined;
  #index = 0;
  readonly #names = new Map<string, string>();

  events({ event, data, seq = 0 }: PodLine): readonly PodEvent[] {
    return this.#facts(event, data).map((fact) => ({ ...fact, seq }));
  }

  /** What follows a snapshot goes on with the blocks that are open in it. */
  joined({ blocks }: Snapshot): void {
    const last = blocks.at(-1);
    this.#index = last?.index ?? 0;
    this.#open =
      last?.open === true && (last.blockType === 'text' || last.blockType === 'thinking')
        ? last.blockType
        : undefined;
  }

  #facts(event: string, data: JsonObject): readonly PodFact[] {
    switch (event) {
      case 'text_delta':
        return this.#delta('text', stringOf(data.text));
      case 'thinking_delta':
        return this.#delta('thinking', stringOf(data.text));
      case 'text_done':
      case 'thinking_done':
        return this.#stop();
      case 'block_aborted':
        return this.#abort(stringOf(data.reason));
      case 'tool_call_start':
        this.#index += 1;
        return [
          {
            type: 'block-start',
            index: this.#index,
            blockType: 'tool-use',
            id: stringOf(data.id),
            name: stringOf(data.name),
          },
        ];
      case 'tool_start': {
        const [callId, name] = [stringOf(data.id), stringOf(data.name)];
        this.#names.set(callId, name);
        const call = { callId, name, arguments: stringOf(data.arguments), title: stringOf(data.title) };
        return [{ type: 'tool-start', call }];
      }
      case 'tool_result':
        return [this.#toolEnd(data)];
      default: {
        const read = Object.hasOwn(FACTS, event) ? FACTS[event] : undefined;
        return read === undefined ? [] : [read(data)];
      }
    }
  }

  #delta(type: 'text' | 'thinking', text: string): readonly PodFact[] {
    const begins = this.#open !== type;
    if (begins) this.#index += 1;
    this.#open = type;
    const index = this.#index;
    return [
      ...(begins ? [{ type: 'block-start', index, blockType: type } as const] : []),
      { type: 'block-delta', index, delta: { type, text } },
    ];
  }

  #stop(): readonly PodFact[] {
    const open = this.#open;
    this.#open = undefined;
    return open === undefined ? [] : [{ type: 'block-stop', index: this.#index, blockType: open }];
  }

  #abort(reason: string): readonly PodFact[] {
    const blockType = this.#open ?? 'tool-use';
    this.#open = undefined;
    return [{ type: 'block-abort', index: this.#index, blockType, reason }];
  }

  #toolEnd(data: JsonObject): PodFact {
    const callId = stringOf(data.id);
    const isError = data.is_error === true;
    const status = oneOf(STATUSES, data.status) ?? (isError ? 'failed' : 'done');
    const text = stringOf(data.output);
    const output = {
      summary: text.split('\n', 1)[0] ?? '',
      content: [{ type: 'text', text } as const],
      isError,
    };
    return { type: 'tool-end', callId, name: this.#names.get(callId) ?? '', status, output };
  }
}

/** The snapshot of a line. */
export function wireSnapshot({ data, seq = 0 }: PodLine): Snapshot {
  const model = modelIn(data.model) ?? { provider: '', modelId: '' };
  const cost = numberOf(data.cost);
  const contextWindow = numberOf(data.context_window);
  return {
    seq,
    id: stringOf(data.session_id),
    cwd: stringOf(data.cwd),
    createdAt: stringOf(data.created_at),
    state: stateIn(data.detail),
    settings: settingsIn(data.settings),
    model,
    items: objectsIn(data.items).flatMap(itemIn),
    leafId: null,
    turn: numberOf(data.turn) ?? 0,
    blocks: objectsIn(data.in_flight).flatMap((block, index) => {
      const { type } = block;
      const rest = { index, open: block.open === true, text: stringOf(block.text) };
      return type === 'text' || type === 'thinking' ? [{ blockType: type, ...rest } as const] : [];
    }),
    tools: objectsIn(data.tools).map(({ id, name, title, text }) => ({
      call: { callId: stringOf(id), name: stringOf(name), arguments: '', title: stringOf(title) },
      text: stringOf(text),
    })),
    shells: objectsIn(data.shells).map((shell) => ({
      shellId: stringOf(shell.shell_id),
      command: stringOf(shell.command),
      private: shell.private === true,
    })),
    approvals: objectsIn(data.approvals).map(approvalIn),
    queue: objectsIn(data.queue).map(queuedIn),
    todos: todosIn(data.items === undefined ? [] : data.todos),
    compacting: data.compacting === true,
    stats: {
      totals: { ...NOTHING, ...(cost === undefined ? {} : { cost }) },
      contextTokens: numberOf(data.context_tokens) ?? 0,
      ...(contextWindow === undefined ? {} : { contextWindow }),
    },
  };
}

const NOTHING: Totals = {
  turns: 0,
  toolCalls: 0,
  inputTokens: 0,
  outputTokens: 0,
  cacheReadInputTokens: 0,
  cacheCreationInputTokens: 0,
};

const FACTS: Readonly<Record<string, (data: JsonObject) => PodFact>> = {
  run_start: (data) => ({ type: 'run-start', runId: stringOf(data.run_id), ...byIn(data) }),
  run_end: (data) => {
    const cost = numberOf(data.cost);
    return {
      type: 'run-end',
      runId: stringOf(data.run_id),
      outcome: outcomeIn(data),
      totals: {
        ...NOTHING,
        turns: numberOf(data.turns) ?? 0,
        toolCalls: numberOf(data.tool_calls) ?? 0,
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
  branched: () => ({ type: 'branched', from: null, items: [] }),
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

const STATUSES: readonly CallStatus[] = ['done', 'failed', 'denied', 'skipped', 'interrupted'];
const STATES: readonly PodState[] = ['idle', 'running', 'waiting', 'paused'];
const ORIGINS: readonly InputOrigin[] = ['prompt', 'steer', 'follow-up', 'continuation', 'shell'];
const REASONS = ['threshold', 'overflow', 'manual'] as const;
const SETTLED = ['approved', 'denied', 'expired', 'cancelled'] as const;
const REMEMBER = ['once', 'session', 'always'] as const;
const SHELL_ENDS = ['done', 'cancelled', 'interrupted'] as const;
const LANES = ['prompt', 'steer', 'follow-up'] as const;
const TODO_STATES = ['pending', 'in_progress', 'completed'] as const;
const MODES = ['read-only', 'workspace-write', 'full-access'] as const;
const THINKING = ['off', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const;

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

function compactionIn(data: JsonObject) {
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
      } as const;
    }
    case 'failed':
      return { status: 'failed', failure: { kind: 'provider', message: stringOf(data.message) } } as const;
    default:
      return { status: data.status === 'cancelled' ? 'cancelled' : 'skipped' } as const;
  }
}

function approvalIn(data: JsonObject): Approval {
  const rule = isObject(data.rule) ? data.rule : undefined;
  return {
    approvalId: stringOf(data.approval_id),
    requestedAt: stringOf(data.requested_at),
    tool: stringOf(data.tool),
    arguments: stringOf(data.arguments),
    title: stringOf(data.title),
    reason: stringOf(data.reason),
    ...textsIn(data, { runId: 'run_id', callId: 'call_id', podId: 'pod_id', deadline: 'deadline' }),
    ...(rule === undefined
      ? {}
      : {
          rule: {
            action: 'auto',
            ...textsIn(rule, { tool: 'tool', command: 'command', path: 'path' }),
            ...(rule.exact === true && { exact: true }),
          },
        }),
  };
}

function queuedIn(data: JsonObject): Queued {
  return {
    queueId: stringOf(data.queue_id),
    lane: oneOf(LANES, ours(data.lane)) ?? 'prompt',
    content: contentIn(data),
    ...byIn(data),
  };
}

/** What of the settings a view shows. */
function settingsIn(value: unknown): PodSettings {
  const data = objectOf(value);
  const model = modelIn(data.model);
  const [mode, thinking] = [oneOf(MODES, data.mode), oneOf(THINKING, data.thinking)];
  return {
    ...DEFAULT_SETTINGS,
    ...(model === undefined ? {} : { model }),
    ...(mode === undefined ? {} : { mode }),
    ...(thinking === undefined ? {} : { thinking }),
    ...(typeof data.name === 'string' ? { name: data.name } : {}),
    acceptEdits: data.accept_edits === true,
  };
}

function itemIn(data: JsonObject): readonly Item[] {
  switch (data.type) {
    case 'message': {
      const role = oneOf(['user', 'assistant', 'system'] as const, data.role) ?? 'user';
      return [{ type: 'message', role, content: contentIn(data) }];
    }
    case 'tool_call':
      return [
        {
          type: 'tool-call',
          callId: stringOf(data.call_id),
          name: stringOf(data.name),
          arguments: stringOf(data.arguments),
        },
      ];
    case 'tool_result': {
      const content = [{ type: 'text', text: stringOf(data.output) } as const];
      return [
        { type: 'tool-result', callId: stringOf(data.call_id), content, isError: data.is_error === true },
      ];
    }
    default:
      return [];
  }
}

function contentIn({ content, text }: JsonObject): readonly Content[] {
  const parts = objectsIn(content).flatMap((part): readonly Content[] => {
    if (part.type === 'image')
      return [{ type: 'image', mediaType: stringOf(part.media_type), data: stringOf(part.data) }];
    return part.type === 'text' ? [{ type: 'text', text: stringOf(part.text) }] : [];
  });
  return parts.length > 0 ? parts : [{ type: 'text', text: stringOf(text) }];
}

function todosIn(value: unknown): readonly TodoItem[] {
  return objectsIn(value).map(({ content, status }) => ({
    content: stringOf(content),
    status: oneOf(TODO_STATES, status) ?? 'pending',
  }));
}

function modelIn(value: unknown) {
  if (!isObject(value)) return undefined;
  return { provider: stringOf(value.provider), modelId: stringOf(value.model_id) };
}

function stateIn(value: unknown): PodState {
  return oneOf(STATES, value) ?? 'idle';
}

function byIn(data: JsonObject): { readonly by?: string; readonly door?: string } {
  return textsIn(data, { by: 'by', door: 'door' });
}

/** The texts that are there, under our names for them. */
function textsIn<K extends string>(
  data: JsonObject,
  names: Readonly<Record<K, string>>,
): { readonly [Name in K]?: string } {
  const texts: { [Name in K]?: string } = {};
  for (const name in names) {
    const text = data[names[name]];
    if (typeof text === 'string') texts[name] = text;
  }
  return texts;
}

/** The wire writes `follow_up` where we write `follow-up`. */
function ours(word: unknown): string {
  return stringOf(word).replaceAll('_', '-');
}

function objectsIn(value: unknown): readonly JsonObject[] {
  return arrayOf(value).map(objectOf);
}

function oneOf<T extends string>(known: readonly T[], value: unknown): T | undefined {
  return known.find((one) => one === value);
}

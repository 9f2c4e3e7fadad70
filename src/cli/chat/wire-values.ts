import { arrayOf, isObject, type JsonObject, objectOf, stringOf } from '../../base/index.ts';
import type { Content } from '../../llm/index.ts';
import {
  type Approval,
  DEFAULT_SETTINGS,
  type ModelChoice,
  type PodSettings,
  type PodState,
  type Queued,
} from '../../pod/index.ts';
import type { TodoItem } from '../../tools/index.ts';
import { NO_TOTALS } from '../../worker/index.ts';

/** What is used is known, what it costs is not. */
export const { cost: _, ...NOTHING_USED } = NO_TOTALS;

const STATES: readonly PodState[] = ['idle', 'running', 'waiting', 'paused'];
const LANES = ['prompt', 'steer', 'follow-up'] as const;
const TODO_STATES = ['pending', 'in_progress', 'completed'] as const;
const MODES = ['read-only', 'workspace-write', 'full-access'] as const;
const THINKING = ['off', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const;

export function approvalIn(data: JsonObject): Approval {
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

export function queuedIn(data: JsonObject): Queued {
  return {
    queueId: stringOf(data.queue_id),
    lane: oneOf(LANES, ours(data.lane)) ?? 'prompt',
    content: contentIn(data),
    ...byIn(data),
  };
}

/** What of the settings a view shows. */
export function settingsIn(value: unknown): PodSettings {
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

export function contentIn({ content, text }: JsonObject): readonly Content[] {
  const parts = objectsIn(content).flatMap((part): readonly Content[] => {
    if (part.type === 'image')
      return [{ type: 'image', mediaType: stringOf(part.media_type), data: stringOf(part.data) }];
    return part.type === 'text' ? [{ type: 'text', text: stringOf(part.text) }] : [];
  });
  return parts.length > 0 ? parts : [{ type: 'text', text: stringOf(text) }];
}

export function todosIn(value: unknown): readonly TodoItem[] {
  return objectsIn(value).map(({ content, status }) => ({
    content: stringOf(content),
    status: oneOf(TODO_STATES, status) ?? 'pending',
  }));
}

export function modelIn(value: unknown): ModelChoice | undefined {
  if (!isObject(value)) return undefined;
  return { provider: stringOf(value.provider), modelId: stringOf(value.model_id) };
}

export function stateIn(value: unknown): PodState {
  return oneOf(STATES, value) ?? 'idle';
}

export function byIn(data: JsonObject): { readonly by?: string; readonly door?: string } {
  return textsIn(data, { by: 'by', door: 'door' });
}

/** The texts that are there, under our names for them. */
export function textsIn<K extends string>(
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
export function ours(word: unknown): string {
  return stringOf(word).replaceAll('_', '-');
}

export function objectsIn(value: unknown): readonly JsonObject[] {
  return arrayOf(value).map(objectOf);
}

export function oneOf<T extends string>(known: readonly T[], value: unknown): T | undefined {
  return known.find((one) => one === value);
}

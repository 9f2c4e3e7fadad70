import { stringOf } from '../../../base/index.ts';
import type { Content } from '../../../llm/index.ts';
import type { ToolOutput } from '../../../tools/index.ts';
import type { CallStatus } from '../../../worker/index.ts';
import type { CardStatus, ToolCard } from './card.ts';
import type { Step } from './step-result.ts';
import type { Running } from './view.ts';

/** The steps for the output of the model and its tools. */
export const blockStart: Step<'block-start'> = (view, event, now) => {
  if (event.blockType === 'thinking')
    return {
      activity: 'thinking',
      thoughts: new Map(view.thoughts).set(event.index, { text: '', startedAt: now }),
    };
  if (event.blockType === 'text') return { activity: 'answering', answer: '' };
  return event.blockType === 'tool-use' ? { activity: `preparing ${event.name}` } : {};
};

export const blockDelta: Step<'block-delta'> = (view, { index, delta }) => {
  if (delta.type === 'input-json') return { written: view.written + delta.json.length };
  const written = view.written + delta.text.length;
  if (delta.type === 'text')
    return { written, answer: view.answer + delta.text, prints: [{ type: 'text', text: delta.text }] };
  const thought = view.thoughts.get(index);
  if (delta.type !== 'thinking' || thought === undefined) return { written };
  const text = thought.text + delta.text;
  return { written, thoughts: new Map(view.thoughts).set(index, { ...thought, text }) };
};

export const blockStop: Step<'block-stop'> = (view, { index, blockType }, now) => {
  if (blockType === 'text') return { prints: [{ type: 'text-end' }] };
  const thought = view.thoughts.get(index);
  if (thought === undefined) return {};
  const card = { type: 'thought', text: thought.text, durationMs: now - thought.startedAt } as const;
  const isEmpty = thought.text.trim() === '';
  return { thoughts: without(view.thoughts, index), prints: isEmpty ? [] : [{ type: 'card', card }] };
};

export const blockAbort: Step<'block-abort'> = (view, { index }) => ({
  thoughts: without(view.thoughts, index),
  prints: [{ type: 'text-end' }],
});

export const toolStart: Step<'tool-start'> = (view, { call: { callId, title } }, now) => ({
  activity: title,
  calls: [...view.calls, { id: callId, title, startedAt: now, text: '' }],
});

export const toolUpdate: Step<'tool-update'> = (view, { callId, text }) => ({
  calls: view.calls.map((call) => (call.id === callId ? { ...call, text } : call)),
});

export const toolEnd: Step<'tool-end'> = (view, { callId, name, status, output }, now) => {
  const call = view.calls.find(({ id }) => id === callId);
  const card = toolCard(name, status, output, call, now);
  return {
    activity: 'working',
    calls: view.calls.filter(({ id }) => id !== callId),
    prints: [{ type: 'card', card }],
  };
};

export const shellEnd: Step<'shell-end'> = (
  view,
  { shellId, command, status, output, private: isPrivate },
  now,
) => {
  const shell = view.shells.find(({ id }) => id === shellId);
  const ended = status === 'done' ? (output.isError ? 'failed' : 'done') : 'cancelled';
  const card: ToolCard = {
    type: 'tool',
    title: shellTitle(command, isPrivate),
    status: ended,
    durationMs: shell && now - shell.startedAt,
    summary: '',
    diff: '',
    output: textOf(output.content),
  };
  return {
    shells: view.shells.filter(({ id }) => id !== shellId),
    lastShell: shellId,
    prints: [{ type: 'card', card }],
  };
};

export function shellTitle(command: string, isPrivate: boolean): string {
  return `${isPrivate ? '!!' : '!'} ${command}`;
}

export function textOf(content: readonly Content[]): string {
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}

/** Tools whose output is for the model: the card shows that they ran, without the output. */
export const QUIET: ReadonlySet<string> = new Set(['read', 'ls', 'find', 'grep', 'todo']);

function toolCard(
  name: string,
  status: CallStatus,
  output: ToolOutput,
  call: Running | undefined,
  now: number,
): ToolCard {
  const diff = stringOf(output.details?.diff);
  const text = diff !== '' || (QUIET.has(name) && !output.isError) ? '' : textOf(output.content);
  return {
    type: 'tool',
    title: call?.title ?? name,
    status: CARD_STATUS[status],
    durationMs: call && now - call.startedAt,
    summary: isAlreadyShown(name, output, text) ? '' : output.summary,
    diff,
    output: text,
  };
}

/** Whether the rest of the card already contains it: the title has the command, the head the duration. */
function isAlreadyShown(name: string, { summary, isError }: ToolOutput, text: string): boolean {
  return text !== '' && ((name === 'bash' && !isError) || text.startsWith(summary));
}

const CARD_STATUS: Readonly<Record<CallStatus, CardStatus>> = {
  done: 'done',
  failed: 'failed',
  denied: 'denied',
  skipped: 'cancelled',
  interrupted: 'cancelled',
};

function without<K, V>(map: ReadonlyMap<K, V>, key: K): ReadonlyMap<K, V> {
  if (!map.has(key)) return map;
  const rest = new Map(map);
  rest.delete(key);
  return rest;
}

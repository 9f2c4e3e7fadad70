import { stringOf } from '../../../base/index.ts';
import type { PodFact } from '../../../pod/index.ts';
import type { CallStatus, Totals } from '../../../worker/index.ts';

/** A part of a run that is shown as it happens, for local and remote runs. */
export type RunStep =
  | { readonly type: 'answer'; readonly text: string }
  /** Text that the model wrote before tool calls, if the answer itself is shown only at the end. */
  | { readonly type: 'comment'; readonly text: string }
  | { readonly type: 'thought'; readonly text: string }
  | { readonly type: 'thought-end' }
  /** The model is streaming the arguments of a call. */
  | { readonly type: 'arguments'; readonly length: number }
  /** The current activity, until the next step. */
  | { readonly type: 'activity'; readonly text: string }
  | { readonly type: 'output'; readonly text: string }
  | { readonly type: 'tool-start'; readonly title: string }
  | {
      readonly type: 'tool-end';
      readonly status: CallStatus;
      readonly summary: string;
      readonly diff: string;
    }
  | { readonly type: 'retry'; readonly message: string; readonly delayMs: number }
  | { readonly type: 'compaction' }
  | { readonly type: 'run-end'; readonly totals: Totals };

/** Converts an event to a step; undefined for an event that is not shown. */
export function stepOf(event: PodFact): RunStep | undefined {
  switch (event.type) {
    case 'turn-start':
      return { type: 'activity', text: 'waiting for the model' };
    case 'block-start':
      return {
        type: 'activity',
        text: event.blockType === 'tool-use' ? `preparing ${event.name}` : 'answering',
      };
    case 'block-delta': {
      const { delta } = event;
      if (delta.type === 'input-json') return { type: 'arguments', length: delta.json.length };
      return { type: delta.type === 'text' ? 'answer' : 'thought', text: delta.text };
    }
    case 'block-stop':
      return event.blockType === 'thinking' ? { type: 'thought-end' } : undefined;
    case 'tool-start':
      return { type: 'tool-start', title: event.call.title };
    case 'tool-update':
      return { type: 'output', text: event.text };
    case 'tool-end': {
      const { summary, details } = event.output;
      return { type: 'tool-end', status: event.status, summary, diff: stringOf(details?.diff) };
    }
    case 'retry-start':
      return { type: 'retry', message: event.failure.message, delayMs: event.delayMs };
    case 'compaction-start':
      return { type: 'compaction' };
    case 'run-end':
      return { type: 'run-end', totals: event.totals };
    default:
      return undefined;
  }
}

import { numberOf, stringOf } from '../../../base/index.ts';
import type { TaskEvent } from '../../../client/index.ts';
import type { CallStatus } from '../../../worker/index.ts';
import type { RunStep } from '../run/run-steps.ts';

/** Converts the events of a task to the steps that are shown, as those of a run. */
export class TaskSteps {
  /** Which part of the answer is being streamed; the start of a part is an activity. */
  #open: 'answer' | 'thought' | undefined;

  of({ event, data }: Pick<TaskEvent, 'event' | 'data'>): readonly RunStep[] {
    switch (event) {
      case 'text_delta':
        return this.#delta('answer', stringOf(data.text));
      case 'thinking_delta':
        return this.#delta('thought', stringOf(data.text));
      case 'thinking_done':
        this.#open = undefined;
        return [{ type: 'thought-end' }];
      case 'text_done':
      case 'block_aborted':
        this.#open = undefined;
        return [];
      case 'turn_start':
        return [{ type: 'activity', text: 'waiting for the model' }];
      case 'tool_call_start':
        return [{ type: 'activity', text: `preparing ${stringOf(data.name)}` }];
      case 'tool_start':
        return [{ type: 'tool-start', title: stringOf(data.title) }];
      case 'tool_update':
        return [{ type: 'output', text: stringOf(data.text) }];
      case 'tool_result': {
        const status = STATUSES.find((known) => known === data.status);
        const summary = stringOf(data.output).split('\n', 1)[0] ?? '';
        return [
          {
            type: 'tool-end',
            status: status ?? (data.is_error === true ? 'failed' : 'done'),
            summary,
            diff: '',
          },
        ];
      }
      case 'retry':
        return [{ type: 'retry', message: stringOf(data.message), delayMs: numberOf(data.delay_ms) ?? 0 }];
      case 'compact_start':
        return [{ type: 'compaction' }];
      default:
        return [];
    }
  }

  #delta(type: 'answer' | 'thought', text: string): readonly RunStep[] {
    const begins = this.#open !== type;
    this.#open = type;
    return [...(begins ? [{ type: 'activity', text: 'answering' } as const] : []), { type, text }];
  }
}

const STATUSES: readonly CallStatus[] = ['done', 'failed', 'denied', 'skipped', 'interrupted'];

import type { PodFact } from '../../../pod/index.ts';
import type { Item } from '../../../llm/index.ts';
import { LastAnswer } from './last-answer.ts';
import { type RunStep, stepOf } from './run-steps.ts';

/** Converts events to steps for a pipe: the answer is one step at the end, so that no text of a cut attempt is part of it. */
export class PipedSteps {
  readonly #answer = new LastAnswer();

  restore(items: readonly Item[]): void {
    this.#answer.restore(items);
  }

  of(event: PodFact): readonly RunStep[] {
    this.#answer.add(event);
    const step = stepOf(event);
    if (step?.type === 'answer') return [{ type: 'arguments', length: step.text.length }];
    const shown = step === undefined ? [] : [step];
    const { text } = this.#answer;
    if (text === '') return shown;
    if (event.type === 'llm-end' && event.items.some(({ type }) => type === 'tool-call'))
      return [{ type: 'comment', text }, ...shown];
    if (event.type === 'run-end' && event.outcome.status === 'finished')
      return [{ type: 'answer', text }, ...shown];
    return shown;
  }
}

import { type Cost, contentText, type Item, type Usage } from '../../llm/index.ts';
import type { RunOutcome, Totals } from '../../worker/index.ts';
import type { Agent } from '../agent.ts';
import type { UnnumberedEvent } from '../journal/index.ts';
import type { ModelChoice } from '../session/index.ts';
import type { PodView } from '../view/view.ts';

export interface TitleRequestParts {
  readonly view: PodView;
  readonly agent: Agent;
  /** The model of the last run. */
  readonly model: () => ModelChoice;
  /** Adds usage to the totals of the conversation. */
  readonly count: (usage: Usage | undefined, cost: Cost | undefined) => Totals;
  readonly publish: (draft: UnnumberedEvent) => void;
}

/** Lets the agent write a title after the first finished run, in the background. A failure is not retried before the pod is loaded again. */
export class TitleRequest {
  readonly #parts: TitleRequestParts;
  readonly #closing = new AbortController();
  #isSent = false;

  constructor(parts: TitleRequestParts) {
    this.#parts = parts;
  }

  onRunEnd({ status }: RunOutcome): void {
    const { settings, title } = this.#parts.view;
    const isWanted = settings.autoTitle === true && settings.name === undefined && title?.source === 'prompt';
    if (status !== 'finished' || !isWanted || this.#isSent) return;
    this.#isSent = true;
    void this.#send();
  }

  close(): void {
    this.#closing.abort();
  }

  async #send(): Promise<void> {
    const { view, agent, model, count, publish } = this.#parts;
    const { signal } = this.#closing;
    const { items } = view;
    const source = {
      model: model(),
      prompt: textOf(items.find(isFrom('user'))),
      answer: textOf(items.findLast(isFrom('assistant'))),
    };
    // An agent of an embedding program may reject all the same.
    const written = await agent.title?.(source, signal).catch(() => undefined);
    if (written === undefined || signal.aborted) return;
    const totals = count(written.usage, written.cost);
    if (written.title !== undefined) publish({ fact: { type: 'title', title: written.title, totals } });
  }
}

function isFrom(role: 'user' | 'assistant') {
  return (item: Item): boolean => item.type === 'message' && item.role === role;
}

function textOf(item: Item | undefined): string {
  return item?.type === 'message' ? contentText(item.content) : '';
}

import type { PodFact } from '../event.ts';
import type { Journal } from '../journal/index.ts';
import type { PodView } from '../view/view.ts';
import type { HostCallbacks } from './pod-options.ts';

export interface HostNoticesParts<Self> {
  readonly callbacks: Pick<HostCallbacks<Self>, 'changed' | 'asked' | 'settled'>;
  readonly journal: () => Pick<Journal, 'written'>;
}

/** Notifies the host of events that change a list, or that concern the parent of a child pod. */
export class HostNotices<Self extends { readonly view: PodView }> {
  readonly #parts: HostNoticesParts<Self>;

  constructor(parts: HostNoticesParts<Self>) {
    this.#parts = parts;
  }

  notify(pod: Self, fact: PodFact): void {
    const { callbacks } = this.#parts;
    const isQuieter = fact.type === 'tool-end' && pod.view.state === 'waiting';
    if (LISTED.has(fact.type) || isQuieter) callbacks.changed(pod, fact.type);
    if (fact.type === 'approval-request') this.#whenWritten(() => callbacks.asked(pod, fact.approval));
    if (fact.type === 'approval-response') {
      const { type: _, approvalId, ...how } = fact;
      this.#whenWritten(() => callbacks.settled(pod, approvalId, how));
    }
  }

  /** After a crash, a parent must not have an event that its child has lost. */
  #whenWritten(notify: () => void): void {
    // A failed disk is reported elsewhere.
    this.#parts
      .journal()
      .written()
      .then(notify, () => {});
  }
}

/** Events after which a list of sessions has changed. */
const LISTED: ReadonlySet<PodFact['type']> = new Set([
  'state',
  'settings',
  'title',
  'run-start',
  'run-end',
  'approval-request',
  'approval-response',
  'queued',
  'unqueued',
  'input',
  'llm-end',
  'branched',
  'closed',
  // The pod may be idle now.
  'background-end',
]);

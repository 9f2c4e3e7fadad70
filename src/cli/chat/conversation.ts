import { asPolypodError, messageOf } from '../../base/index.ts';
import type { PodHandle } from '../../daemon/index.ts';
import type { PodCommand, Receipt, Watched } from '../../pod/index.ts';
import { joined } from './joined.ts';
import type { Place } from './place.ts';
import { notice, type Print } from './print.ts';
import { snapshotOf } from './snapshot.ts';
import { step } from './step.ts';
import { steadyWatch } from './steady-watch.ts';
import type { View } from './view.ts';

export interface ConversationOptions {
  readonly place: Place;
  readonly now: () => number;
  readonly onPrints: (prints: readonly Print[]) => void;
  /** After every change. */
  readonly onView: (view: View) => void;
  /** The pod was closed, or cannot be watched. */
  readonly onEnd: () => void;
}

/** One pod, watched: its events become the view and the prints, and commands go to it. */
export class Conversation {
  readonly #options: ConversationOptions;
  readonly #pod: PodHandle;
  readonly #leaving = new AbortController();
  #view: View;
  #watching: Promise<void> = Promise.resolve();

  /** Resolves once the pod has told how it stands. */
  static async open(pod: PodHandle, options: ConversationOptions): Promise<Conversation> {
    const leaving = new AbortController();
    const watching = steadyWatch(pod, {
      signal: leaving.signal,
      isUp: options.place.isUp,
      onConnection: (state) => options.onPrints([state === 'lost' ? LOST : BACK]),
    });
    const { value: first } = await watching.next();
    if (first?.type !== 'snapshot')
      throw asPolypodError(new Error(`the pod ${pod.id} did not tell how it stands`));
    const { view, prints } = joined(first.snapshot, options.place.me, options.now());
    const conversation = new Conversation(pod, options, leaving, view);
    options.onPrints(prints);
    options.onView(view);
    conversation.#watching = conversation.#follow(watching);
    return conversation;
  }

  private constructor(pod: PodHandle, options: ConversationOptions, leaving: AbortController, view: View) {
    this.#pod = pod;
    this.#options = options;
    this.#leaving = leaving;
    this.#view = view;
  }

  get pod(): PodHandle {
    return this.#pod;
  }

  get view(): View {
    return this.#view;
  }

  handle(command: PodCommand): Promise<Receipt> {
    return this.#pod.handle(command, this.#options.place.me);
  }

  /** Stops watching; what runs goes on. */
  async leave(): Promise<void> {
    this.#leaving.abort();
    await this.#watching;
  }

  async #follow(watching: AsyncGenerator<Watched>): Promise<void> {
    const { onPrints, onEnd } = this.#options;
    try {
      for await (const watched of watching) this.#take(watched);
    } catch (thrown) {
      onPrints([notice(messageOf(thrown), 'error')]);
    }
    if (!this.#leaving.signal.aborted) onEnd();
  }

  #take(watched: Watched): void {
    const { onPrints, onView, now, place } = this.#options;
    const prints: Print[] = [];
    if (watched.type === 'snapshot') {
      // What came in between is no longer kept: the view starts anew, from what is now.
      const anew = joined(watched.snapshot, place.me, now());
      this.#view = anew.view;
      prints.push({ type: 'text-end' }, GAP, ...anew.prints);
    } else
      for (const event of watched.batch.events) {
        const stepped = step(this.#view, event, now());
        this.#view = stepped.view;
        for (const print of stepped.prints) prints.push(print);
      }
    onPrints(prints);
    onView(this.#view);
    const isSet = watched.type === 'events' && watched.batch.events.some(({ type }) => type === 'settings');
    if (isSet && this.#view.contextWindow === undefined) void this.#learnWindow();
  }

  /** Events do not tell how much the context of another model holds. */
  async #learnWindow(): Promise<void> {
    // Without it the status line says less, and nothing else is amiss.
    const snapshot = await snapshotOf(this.#pod).catch(() => undefined);
    const contextWindow = snapshot?.stats.contextWindow;
    if (contextWindow === undefined) return;
    this.#view = { ...this.#view, contextWindow };
    this.#options.onView(this.#view);
  }
}

const LOST = notice('the connection is lost: trying to come back', 'warning');
const BACK = notice('reconnected');
const GAP = notice('what happened meanwhile is not kept; this is how it stands now', 'warning');

import { messageOf, PolypodError, withoutUndefined } from '../../base/index.ts';
import type { PodHandle } from '../../control/index.ts';
import type { PodCommand, Receipt, WatchItem } from '../../pod/index.ts';
import { type PodLocation, reconnectingWatch } from '../hosting/index.ts';
import { viewFromSnapshot } from './view/joined-view.ts';
import { notice, type Print } from './view/print.ts';
import { snapshotOf } from './view/current-snapshot.ts';
import { step } from './view/step.ts';
import type { StepResult } from './view/step-result.ts';
import type { View } from './view/view.ts';

export interface ConversationOptions {
  readonly location: PodLocation;
  readonly now: () => number;
  readonly onPrints: (prints: readonly Print[]) => void;
  /** Called after every change of the view. */
  readonly onView: (view: View) => void;
  /** The pod was closed, or the connection to it was lost for good. */
  readonly onEnd: (how: 'closed' | 'lost') => void;
}

/** Watches one pod: reduces its events to the view and the printed output, and sends commands to it. */
export class ChatConversation {
  readonly #options: ConversationOptions;
  readonly #pod: PodHandle;
  readonly #leaving: AbortController;
  readonly #source: AsyncGenerator<WatchItem>;
  /** The part of the history that `begin` prints. */
  readonly #past: readonly Print[];
  #view: View;
  #watching: Promise<void> = Promise.resolve();

  /** Resolves when the first snapshot has arrived. Nothing is printed before `begin`. */
  static async open(pod: PodHandle, options: ConversationOptions): Promise<ChatConversation> {
    const { location, onPrints, now } = options;
    const leaving = new AbortController();
    let conversation: ChatConversation | undefined;
    const source = reconnectingWatch(pod, {
      signal: leaving.signal,
      isUp: location.isUp,
      ifLost: location.ifLost,
      onConnection: (state) => {
        onPrints([state === 'lost' ? LOST : BACK]);
        if (conversation !== undefined) conversation.#show({ isAway: state === 'lost' });
      },
    });
    const { value: first } = await source.next();
    if (first?.type !== 'snapshot') throw new PolypodError('internal', `the pod ${pod.id} sent no snapshot`);
    const start = viewFromSnapshot(first.snapshot, location.me, now());
    conversation = new ChatConversation(pod, options, { leaving, source, start });
    return conversation;
  }

  private constructor(
    pod: PodHandle,
    options: ConversationOptions,
    parts: {
      readonly leaving: AbortController;
      readonly source: AsyncGenerator<WatchItem>;
      readonly start: StepResult;
    },
  ) {
    this.#pod = pod;
    this.#options = options;
    this.#leaving = parts.leaving;
    this.#source = parts.source;
    this.#view = parts.start.view;
    this.#past = parts.start.prints;
  }

  /** Prints the history, then every new event. */
  begin(): void {
    this.#options.onPrints(this.#past);
    this.#options.onView(this.#view);
    this.#watching = this.#follow(this.#source);
  }

  get pod(): PodHandle {
    return this.#pod;
  }

  get view(): View {
    return this.#view;
  }

  /** Sends a command as the local user, or as `by` if it is given. */
  handle(command: PodCommand, by?: string): Promise<Receipt> {
    const { me } = this.#options.location;
    // Recorded before the command is sent, because the event can arrive before the receipt.
    if (command.type === 'decide' && by === undefined)
      this.#view = withDecided(this.#view, command.approvalId);
    return this.#pod.handle(command, by === undefined ? me : { ...me, by });
  }

  /** Stops watching. A running run continues. */
  async leave(): Promise<void> {
    this.#leaving.abort();
    await this.#watching;
  }

  async #follow(watching: AsyncGenerator<WatchItem>): Promise<void> {
    const { onPrints, onEnd } = this.#options;
    let how: 'closed' | 'lost' = 'closed';
    try {
      for await (const watched of watching) this.#take(watched);
    } catch (thrown) {
      onPrints([notice(messageOf(thrown), 'error')]);
      how = 'lost';
    }
    if (!this.#leaving.signal.aborted) onEnd(how);
  }

  #take(watched: WatchItem): void {
    const { onPrints, onView, now, location } = this.#options;
    const prints: Print[] = [];
    if (watched.type === 'snapshot') {
      // The events in between are no longer stored: the view is rebuilt from the snapshot.
      const restarted = viewFromSnapshot(watched.snapshot, location.me, now());
      this.#view = restarted.view;
      prints.push({ type: 'text-end' }, GAP, ...restarted.prints);
    } else
      for (const event of watched.batch.events) {
        const stepped = step(this.#view, event, now());
        this.#view = stepped.view;
        for (const print of stepped.prints) prints.push(print);
      }
    onPrints(prints);
    onView(this.#view);
    const types = new Set(watched.type === 'events' ? watched.batch.events.map(({ type }) => type) : []);
    const isWindowUnknown = types.has('settings') && this.#view.contextWindow === undefined;
    if (isWindowUnknown || types.has('compaction-end')) void this.#learnStats();
  }

  /** Events do not contain the context window of a newly selected model, and the cost of a compaction. */
  async #learnStats(): Promise<void> {
    // Without it, only the status line shows less.
    const snapshot = await snapshotOf(this.#pod).catch(() => undefined);
    if (snapshot === undefined) return;
    const { contextWindow, totals } = snapshot.stats;
    this.#show({ totals, ...withoutUndefined({ contextWindow }) });
  }

  #show(change: Partial<View>): void {
    this.#view = { ...this.#view, ...change };
    this.#options.onView(this.#view);
  }
}

function withDecided(view: View, approvalId: string): View {
  return { ...view, decided: new Set(view.decided).add(approvalId) };
}

const LOST = notice('the connection is lost: reconnecting; Ctrl-C exits', 'warning');
const BACK = notice('reconnected');
const GAP = notice('the events in between are no longer available; this is the current state', 'warning');

import { asPolypodError, messageOf } from '../../base/index.ts';
import type { PodHandle } from '../../control/index.ts';
import type { PodCommand, Receipt } from '../../pod/index.ts';
import type { ApprovalAnswer } from './screen/approval-dialog.ts';
import { textOf } from './view/answer-steps.ts';
import { contentOf, imagesIn } from './view/content.ts';
import { Conversation, type ConversationOptions } from './conversation.ts';
import type { SlashCommandContext } from './slash/slash-context.ts';
import { inputIn } from './input-text.ts';
import type { PodLocation } from '../hosting/index.ts';
import { notice, type Print } from './view/print.ts';
import { decisionFor } from './screen/question.ts';
import { runSlash } from './slash/slash-commands.ts';
import type { View } from './view/view.ts';

/** What a talk needs of where it is shown. */
export interface ChatDisplay extends Pick<SlashCommandContext, 'suggest' | 'copy' | 'askAgain' | 'leave'> {
  readonly now: () => number;
  readonly print: (prints: readonly Print[]) => void;
  readonly onView: (view: View) => void;
  /** There is nothing to talk to any more; why has been printed. */
  readonly lost: () => void;
}

export interface UserInput {
  readonly text: string;
  /** Images that go with it. */
  readonly paths: readonly string[];
  /** When it is read, if a run is under way. */
  readonly whenBusy: 'steer' | 'follow-up';
}

/** What was asked for is under way. */
export interface Accepted {
  /** Whether it has come to its end. */
  readonly isOver: (view: View) => boolean;
  /** Whether how the last run ended says how this ended. */
  readonly isRun: boolean;
}

/** What a person says to the pods of a place, one at a time; the same on a terminal and without one. */
export class ChatSession {
  readonly #place: PodLocation;
  readonly #stage: ChatDisplay;
  /** Sessions that were made here. */
  readonly #made = new Set<string>();
  #conversation: Conversation;

  static async open(
    place: PodLocation,
    pod: PodHandle | undefined,
    stage: ChatDisplay,
  ): Promise<ChatSession> {
    const fresh = pod ?? (await place.create());
    const conversation = await Conversation.open(fresh, optionsFor(place, stage));
    const talk = new ChatSession(place, stage, conversation);
    conversation.begin();
    if (pod === undefined) talk.#made.add(fresh.id);
    return talk;
  }

  private constructor(place: PodLocation, stage: ChatDisplay, conversation: Conversation) {
    this.#place = place;
    this.#stage = stage;
    this.#conversation = conversation;
  }

  get view(): View {
    return this.#conversation.view;
  }

  /** Does what was typed; undefined when it was refused, which is printed. */
  async submit(said: UserInput): Promise<Accepted | undefined> {
    try {
      return await this.#act(said);
    } catch (thrown) {
      this.#stage.print([notice(messageOf(thrown), 'error')]);
      // Where nobody was there to hear it, it is not to be typed again.
      if (this.view.isAway || asPolypodError(thrown).code === 'unreachable') this.#stage.suggest(said.text);
      return undefined;
    }
  }

  /** Answers a question, in another's name if `by` is given; false when it still stands. */
  async decide(approvalId: string, answer: ApprovalAnswer, by?: string): Promise<boolean> {
    const decision = decisionFor(approvalId, answer);
    return decision !== undefined && this.#quietly(decision, by);
  }

  /** Ends the run, or the commands of the person's own. What they said and nobody has read yet comes back to them. */
  async cancel(): Promise<void> {
    const { shells, state, queue, me } = this.view;
    const isShell = shells.length > 0 && state === 'idle';
    const unread = queue.filter(({ by, door }) => by === me.by && door === me.door);
    if (!(await this.#quietly(isShell ? { type: 'abort-shell' } : { type: 'cancel' })) || unread.length === 0)
      return;
    await this.#quietly({ type: 'clear-queue', queueIds: unread.map(({ queueId }) => queueId) });
    this.#stage.suggest(unread.map(({ content }) => textOf(content)).join('\n'));
  }

  /** Leaves the session, which is taken away if nothing was said in it. */
  async close(): Promise<void> {
    await this.#leaveConversation();
  }

  async #quietly(command: PodCommand, by?: string): Promise<boolean> {
    try {
      await this.#conversation.handle(command, by);
      return true;
    } catch (thrown) {
      this.#stage.print([notice(messageOf(thrown), 'error')]);
      return false;
    }
  }

  async #act({ text, paths, whenBusy }: UserInput): Promise<Accepted> {
    const input = inputIn(text);
    const { compactions } = this.view;
    let receipt: Receipt | undefined;
    const handle = async (command: PodCommand): Promise<Receipt> => {
      receipt = await this.#conversation.handle(command);
      return receipt;
    };
    if (input.type === 'slash') await runSlash(input.name, input.rest, this.#context(handle));
    else if (input.type === 'shell')
      await handle({ type: 'shell', command: input.command, private: input.isPrivate });
    else {
      const { cwd } = this.view;
      const content = await contentOf(text, [...paths, ...imagesIn(text, cwd)], cwd);
      await handle({ type: 'prompt', content, whenBusy });
    }
    const isCompacting = input.type === 'slash' && input.name === 'compact';
    return isCompacting
      ? { isOver: (view) => view.compactions > compactions, isRun: false }
      : acceptedWith(receipt);
  }

  #context(handle: SlashCommandContext['handle']): SlashCommandContext {
    const { suggest, copy, askAgain, leave, print } = this.#stage;
    return {
      place: this.#place,
      view: this.view,
      pod: this.#conversation.pod,
      say: (text, tone) => print([notice(text, tone)]),
      list: (rows) => print([{ type: 'list', rows }]),
      handle,
      enter: (pod) => this.#enter(pod),
      leave,
      suggest,
      copy,
      askAgain,
    };
  }

  async #enter(pod: PodHandle): Promise<void> {
    if (pod.id === this.#conversation.pod.id) return;
    const isNew = (await this.#place.sessions()).find(({ id }) => id === pod.id)?.firstPrompt === undefined;
    // One that cannot be opened leaves everything as it is.
    const next = await Conversation.open(pod, optionsFor(this.#place, this.#stage));
    await this.#leaveConversation();
    if (isNew) this.#made.add(pod.id);
    this.#conversation = next;
    this.#stage.print([notice(`session ${pod.id}`)]);
    next.begin();
  }

  async #leaveConversation(): Promise<void> {
    const { pod, view } = this.#conversation;
    await this.#conversation.leave();
    // An empty session is of no use to anybody; that it stays does no harm either.
    if (this.#made.has(pod.id) && !view.hasBegun) await this.#place.discard(pod.id).catch(() => {});
  }
}

function optionsFor(
  place: PodLocation,
  { now, print, onView, leave, lost }: ChatDisplay,
): ConversationOptions {
  return { place, now, onPrints: print, onView, onEnd: (how) => (how === 'lost' ? lost() : leave()) };
}

function acceptedWith(receipt: Receipt | undefined): Accepted {
  const { runId, queueId, shellId } = receipt ?? {};
  if (runId !== undefined) return { isOver: ({ lastRun }) => lastRun?.runId === runId, isRun: true };
  if (shellId !== undefined) return { isOver: ({ lastShell }) => lastShell === shellId, isRun: false };
  if (queueId === undefined) return { isOver: () => true, isRun: false };
  const isDelivered = ({ queue }: View) => !queue.some((queued) => queued.queueId === queueId);
  return { isOver: (view) => view.state === 'idle' && isDelivered(view), isRun: true };
}

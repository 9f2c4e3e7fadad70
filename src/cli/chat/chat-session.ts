import { asPolypodError, messageOf } from '../../base/index.ts';
import type { PodHandle } from '../../control/index.ts';
import type { PodCommand, Receipt } from '../../pod/index.ts';
import type { ApprovalAnswer } from './screen/approval-dialog.ts';
import { textOf } from './view/answer-steps.ts';
import { contentOf, imagesIn } from './view/content.ts';
import { ChatConversation, type ConversationOptions } from './conversation.ts';
import type { SlashCommandContext } from './slash/slash-context.ts';
import { inputIn } from './input-text.ts';
import type { PodLocation } from '../hosting/index.ts';
import { notice, type Print } from './view/print.ts';
import { decisionFor } from './screen/question.ts';
import { runSlash } from './slash/slash-commands.ts';
import type { View } from './view/view.ts';

/** What a chat session needs from its display. */
export interface ChatDisplay
  extends Pick<SlashCommandContext, 'suggest' | 'copy' | 'pick' | 'askAgain' | 'leave'> {
  readonly now: () => number;
  readonly print: (prints: readonly Print[]) => void;
  readonly onView: (view: View) => void;
  /** The pod is unreachable for good; the reason was printed. */
  readonly lost: () => void;
}

export interface UserInput {
  readonly text: string;
  /** Images that are sent with the text. */
  readonly paths: readonly string[];
  /** How the text is delivered if a run is active. */
  readonly whenBusy: 'steer' | 'follow-up';
}

/** A request that the pod accepted. */
export interface Accepted {
  /** Whether it is complete. */
  readonly isOver: (view: View) => boolean;
  /** Whether the outcome of the last run is its outcome. */
  readonly isRun: boolean;
}

/** Sends the input of a user to the pods of one location, one at a time. Used with and without a terminal. */
export class ChatSession {
  readonly #location: PodLocation;
  readonly #display: ChatDisplay;
  /** The sessions that this chat created. */
  readonly #made = new Set<string>();
  #conversation: ChatConversation;

  static async open(
    location: PodLocation,
    pod: PodHandle | undefined,
    display: ChatDisplay,
  ): Promise<ChatSession> {
    const fresh = pod ?? (await location.create());
    const conversation = await ChatConversation.open(fresh, optionsFor(location, display));
    const session = new ChatSession(location, display, conversation);
    conversation.begin();
    if (pod === undefined) session.#made.add(fresh.id);
    return session;
  }

  private constructor(location: PodLocation, display: ChatDisplay, conversation: ChatConversation) {
    this.#location = location;
    this.#display = display;
    this.#conversation = conversation;
  }

  get view(): View {
    return this.#conversation.view;
  }

  /** Executes the input; undefined if it was rejected. The reason is printed. */
  async submit(input: UserInput): Promise<Accepted | undefined> {
    try {
      return await this.#act(input);
    } catch (thrown) {
      this.#display.print([notice(messageOf(thrown), 'error')]);
      // If the pod was unreachable, the text goes back to the input.
      if (this.view.isAway || asPolypodError(thrown).code === 'unreachable')
        this.#display.suggest(input.text);
      return undefined;
    }
  }

  /** Decides an approval, as `by` if it is given; false if the approval is still pending. */
  async decide(approvalId: string, answer: ApprovalAnswer, by?: string): Promise<boolean> {
    const decision = decisionFor(approvalId, answer);
    return decision !== undefined && this.#quietly(decision, by);
  }

  /** Cancels the run, or the shell commands of the user. Undelivered messages go back to the input. */
  async cancel(): Promise<void> {
    const { shells, state, queue, me } = this.view;
    const isShell = shells.length > 0 && state === 'idle';
    const unread = queue.filter(({ by, door }) => by === me.by && door === me.door);
    if (!(await this.#quietly(isShell ? { type: 'abort-shell' } : { type: 'cancel' })) || unread.length === 0)
      return;
    await this.#quietly({ type: 'clear-queue', queueIds: unread.map(({ queueId }) => queueId) });
    this.#display.suggest(unread.map(({ content }) => textOf(content)).join('\n'));
  }

  /** Leaves the session. A session that was created here and never used is removed. */
  async close(): Promise<void> {
    await this.#leaveConversation();
  }

  async #quietly(command: PodCommand, by?: string): Promise<boolean> {
    try {
      await this.#conversation.handle(command, by);
      return true;
    } catch (thrown) {
      this.#display.print([notice(messageOf(thrown), 'error')]);
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
    const prompt = async (said: string): Promise<void> => {
      const { cwd } = this.view;
      // Images are attached without approval: only what the user has typed counts, not the file of a custom command.
      const content = await contentOf(said, [...paths, ...imagesIn(text, cwd)], cwd);
      await handle({ type: 'prompt', content, whenBusy });
    };
    if (input.type === 'slash') await runSlash(input.name, input.rest, this.#context(handle, prompt));
    else if (input.type === 'shell')
      await handle({ type: 'shell', command: input.command, private: input.isPrivate });
    else await prompt(text);
    const isCompacting = input.type === 'slash' && input.name === 'compact';
    return isCompacting
      ? { isOver: (view) => view.compactions > compactions, isRun: false }
      : acceptedWith(receipt);
  }

  #context(
    handle: SlashCommandContext['handle'],
    prompt: SlashCommandContext['prompt'],
  ): SlashCommandContext {
    const { suggest, copy, pick, askAgain, leave, print } = this.#display;
    return {
      location: this.#location,
      view: this.view,
      pod: this.#conversation.pod,
      notify: (text, tone) => print([notice(text, tone)]),
      list: (rows) => print([{ type: 'list', rows }]),
      print,
      customCommands: () => this.#location.customCommands(this.view.cwd),
      prompt,
      handle,
      enter: (pod) => this.#enter(pod),
      leave,
      suggest,
      copy,
      pick,
      askAgain,
    };
  }

  async #enter(pod: PodHandle): Promise<void> {
    if (pod.id === this.#conversation.pod.id) return;
    const isNew =
      (await this.#location.sessions()).find(({ id }) => id === pod.id)?.firstPrompt === undefined;
    // If the session cannot be opened, the current one stays open.
    const next = await ChatConversation.open(pod, optionsFor(this.#location, this.#display));
    await this.#leaveConversation();
    if (isNew) this.#made.add(pod.id);
    this.#conversation = next;
    this.#display.print([notice(`session ${pod.id}`)]);
    next.begin();
  }

  async #leaveConversation(): Promise<void> {
    const { pod, view } = this.#conversation;
    await this.#conversation.leave();
    // Failing to remove an empty session does no harm.
    if (this.#made.has(pod.id) && !view.hasBegun) await this.#location.discard(pod.id).catch(() => {});
  }
}

function optionsFor(
  location: PodLocation,
  { now, print, onView, leave, lost }: ChatDisplay,
): ConversationOptions {
  return { location, now, onPrints: print, onView, onEnd: (how) => (how === 'lost' ? lost() : leave()) };
}

function acceptedWith(receipt: Receipt | undefined): Accepted {
  const { runId, queueId, shellId } = receipt ?? {};
  if (runId !== undefined) return { isOver: ({ lastRun }) => lastRun?.runId === runId, isRun: true };
  if (shellId !== undefined) return { isOver: ({ lastShell }) => lastShell === shellId, isRun: false };
  if (queueId === undefined) return { isOver: () => true, isRun: false };
  const isDelivered = ({ queue }: View) => !queue.some((queued) => queued.queueId === queueId);
  return { isOver: (view) => view.state === 'idle' && isDelivered(view), isRun: true };
}

import type { PodEvent, PodEventOf, Receipt, Snapshot } from '../../../pod/index.ts';
import type { Content } from '../encode/tool-call.ts';

type RunOutcome = PodEventOf<'run-end'>['outcome'];
/** How the model ended its last answer; undefined if there was none. */
type AnswerStop = Extract<PodEventOf<'status'>, { readonly status: 'completed' }>['stopReason'] | undefined;

/** How a prompt ended: with its run, cancelled by the client, or because the session can no longer be used. */
export type PromptEnd =
  | { readonly type: 'ended'; readonly outcome: RunOutcome; readonly stop: AnswerStop }
  | { readonly type: 'cancelled' }
  | { readonly type: 'lost'; readonly message: string };

/** A prompt of this client that is not answered yet. */
export interface OwnPrompt {
  readonly ended: Promise<PromptEnd>;
  /** Whether the client has cancelled it. It is then answered as cancelled, however its run ends. */
  readonly isCancelled: boolean;
  readonly queueId: string | undefined;
  /** The run that answers it; undefined while it is queued. */
  readonly runId: string | undefined;
}

interface PendingPrompt extends OwnPrompt {
  content: string | undefined;
  /** Whether the pod has published it. */
  isShown: boolean;
  isCancelled: boolean;
  queueId: string | undefined;
  runId: string | undefined;
  readonly resolve: (end: PromptEnd) => void;
}

const CANCELLED: PromptEnd = { type: 'cancelled' };
const MISSED =
  'the run of this prompt has ended, but the client read too slowly to receive how: load the session again to see its answer';

/**
 * The prompts of this client that are not answered yet. The end of a run can be published before the receipt of its prompt
 * arrives, so ends are kept while there are prompts.
 */
export class OwnPrompts {
  readonly #prompts = new Set<PendingPrompt>();
  readonly #ends = new Map<string, PromptEnd>();
  readonly #removed = new Set<string>();
  /** The runs that started with a queued message. */
  readonly #runs = new Map<string, string>();
  readonly #paused = new Set<string>();
  #runId: string | undefined;
  #stop: AnswerStop;

  get all(): readonly OwnPrompt[] {
    return [...this.#prompts];
  }

  get cancelled(): readonly OwnPrompt[] {
    return this.all.filter(({ isCancelled }) => isCancelled);
  }

  /** Adds a prompt before it is sent, so that it can be cancelled at once. */
  add(): OwnPrompt {
    let resolve = (_: PromptEnd): void => {};
    const ended = new Promise<PromptEnd>((settle) => {
      resolve = settle;
    });
    const prompt: PendingPrompt = {
      ended,
      content: undefined,
      isShown: false,
      isCancelled: false,
      queueId: undefined,
      runId: undefined,
      resolve: (end) => {
        this.remove(prompt);
        resolve(prompt.isCancelled ? CANCELLED : end);
      },
    };
    this.#prompts.add(prompt);
    return prompt;
  }

  remove(prompt: OwnPrompt): void {
    this.#prompts.delete(this.#pending(prompt));
    if (this.#prompts.size > 0) return;
    for (const kept of [this.#ends, this.#removed, this.#runs, this.#paused]) kept.clear();
  }

  cancel(prompt: OwnPrompt): void {
    this.#pending(prompt).isCancelled = true;
  }

  /** The content of a prompt is sent now. */
  sending(prompt: OwnPrompt, content: Content): void {
    this.#pending(prompt).content = JSON.stringify(content);
  }

  accepted(prompt: OwnPrompt, { queueId, runId }: Receipt): void {
    const pending = this.#pending(prompt);
    pending.queueId = queueId;
    if (queueId === undefined) pending.runId = runId;
    this.#match();
  }

  /** Whether a published message is a prompt of this client. */
  isOwn({ item, door }: PodEventOf<'input'>): boolean {
    if (item.type !== 'message' || door !== 'acp') return false;
    const content = JSON.stringify(item.content);
    const own = [...this.#prompts].find((prompt) => !prompt.isShown && prompt.content === content);
    if (own !== undefined) own.isShown = true;
    return own !== undefined;
  }

  observe(event: PodEvent): void {
    if (event.type === 'run-start') {
      this.#runId = event.runId;
      this.#stop = undefined;
    }
    if (this.#prompts.size === 0) return;
    switch (event.type) {
      case 'run-start':
        // A paused run never continues once another has started.
        for (const { runId, resolve } of this.#prompts)
          if (runId !== undefined && runId !== event.runId && this.#paused.has(runId)) resolve(CANCELLED);
        return;
      case 'status':
        if (event.status === 'completed') this.#stop = event.stopReason;
        return;
      case 'input':
        if (event.queueId === undefined || this.#runId === undefined) return;
        this.#runs.set(event.queueId, this.#runId);
        return this.#match();
      case 'unqueued':
        for (const queueId of event.queueIds) this.#removed.add(queueId);
        return this.#match();
      case 'run-end':
        return this.#end(event.runId, event.outcome, this.#stop);
      default:
    }
  }

  /** Events were missed: what they would have reported is in the snapshot. */
  rejoin({ run, lastRun, queue, items }: Snapshot): void {
    this.#runId = run?.runId;
    const queued = new Set(queue.map(({ queueId }) => queueId));
    const prompt = items.findLast((item) => item.type === 'message' && item.role === 'user');
    const content = prompt?.type === 'message' ? JSON.stringify(prompt.content) : undefined;
    // The last message to the model was delivered from the queue: the last run answers it.
    for (const delivered of this.#prompts)
      if (delivered.queueId !== undefined && delivered.content === content && !queued.has(delivered.queueId))
        delivered.runId ??= run?.runId ?? lastRun?.runId;
    if (lastRun !== undefined && run === undefined) this.#end(lastRun.runId, lastRun.outcome, undefined);
    for (const { queueId, runId, resolve } of this.#prompts) {
      const isSent = queueId !== undefined || runId !== undefined;
      const isKnown =
        (runId !== undefined && (runId === run?.runId || this.#paused.has(runId))) ||
        (queueId !== undefined && queued.has(queueId));
      if (isSent && !isKnown) resolve({ type: 'lost', message: MISSED });
    }
  }

  /** The session is closed, or its events have ended: no end follows. */
  abandon(end: PromptEnd): void {
    for (const { resolve } of this.#prompts) resolve(end);
  }

  #end(runId: string, outcome: RunOutcome, stop: AnswerStop): void {
    // A paused run, or one that waits for a person in another process, goes on later.
    if (outcome.status === 'paused') this.#paused.add(runId);
    else {
      this.#ends.set(runId, { type: 'ended', outcome, stop });
      this.#match();
    }
  }

  #match(): void {
    for (const prompt of this.#prompts) {
      const { queueId } = prompt;
      if (queueId !== undefined) prompt.runId ??= this.#runs.get(queueId);
      const end = prompt.runId === undefined ? undefined : this.#ends.get(prompt.runId);
      if (end !== undefined) prompt.resolve(end);
      else if (queueId !== undefined && prompt.runId === undefined && this.#removed.has(queueId))
        prompt.resolve(CANCELLED);
    }
  }

  #pending(prompt: OwnPrompt): PendingPrompt {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only `add` creates prompts
    return prompt as PendingPrompt;
  }
}

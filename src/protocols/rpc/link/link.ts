import { asPolypodError, errorText, isObject, type JsonObject } from '../../../base/index.ts';
import type { CancelledRun, RpcCommand } from '../arguments.ts';
import { CommandOrder } from './command-order.ts';
import { COMMANDS, type Command } from '../commands/index.ts';
import { cancelRun } from '../sessions/end-run.ts';
import { refusalText } from '../errors.ts';
import type { Frame } from './frames.ts';
import type { Outbox } from '../encode/outbox.ts';
import type { ExtensionContent } from '../parts.ts';
import type { RpcSession } from '../sessions/rpc-session.ts';

/** The name of a command as it is sent back; no name of ours is longer. */
function typeName(type: unknown): string {
  return (typeof type === 'object' && type !== null ? JSON.stringify(type) : String(type)).slice(0, 200);
}

/** Commands that take effect at once, whatever is under way. */
const URGENT: ReadonlySet<string> = new Set(['abort', 'abort_bash', 'abort_retry']);
/** Commands that cancel the run when they are received. */
const CANCELLING: ReadonlySet<string> = new Set(['abort', 'abort_and_prompt']);
/** Commands that leave the session: what stands behind them is about the next one. */
const LEAVING: ReadonlySet<string> = new Set(['new_session', 'switch_session', 'branch', 'fork', 'clone']);
/** Commands that wait for a long one in front of them, since they may need its outcome. All others may overtake it. */
const ORDERED: ReadonlySet<string> = new Set([
  'prompt',
  'abort_and_prompt',
  'bash',
  'compact',
  'export_html',
  ...LEAVING,
]);
const WHEN_BUSY = { steer: 'steer', followUp: 'follow-up' } as const;
/** Commands that an `abort` behind them is about. */
const PROMPTS: ReadonlySet<string> = new Set(['prompt', 'abort_and_prompt']);

export interface RpcLinkOptions {
  /** Whether failures that have no id in the protocol get one all the same. */
  readonly echoErrors: boolean;
  /** A command has been answered. */
  readonly onAnswered: () => void;
  /** The client has been refused something. */
  readonly onRefused?: (() => void) | undefined;
}

/** One client: its frames are read and answered in order; what is urgent, or need not wait for a long command, is done meanwhile. */
export class RpcLink {
  readonly #session: RpcSession;
  readonly #out: Outbox;
  readonly #echoErrors: boolean;
  readonly #onAnswered: () => void;
  readonly #onRefused: (() => void) | undefined;
  readonly #order = new CommandOrder();
  /** Until all prompts so far have been taken. */
  #prompts: Promise<unknown> = Promise.resolve();
  /** Until the last `bash` so far has begun. */
  #bash: Promise<unknown> = Promise.resolve();
  /** How many of the client's own commands run. */
  #shells = 0;
  #waiting = 0;

  constructor(session: RpcSession, out: Outbox, options: RpcLinkOptions) {
    this.#session = session;
    this.#out = out;
    this.#echoErrors = options.echoErrors;
    this.#onAnswered = options.onAnswered;
    this.#onRefused = options.onRefused;
  }

  /** Commands that have not been answered. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Resolves when all commands so far have been answered. */
  idle(): Promise<void> {
    return this.#order.idle();
  }

  /** Cancels the `bash` or `compact` that takes long; it is answered as a cancelled one. */
  endLongCommand(): void {
    if (!this.#order.isWaitingLong) return;
    this.#session.handle({ type: this.#shells > 0 ? 'abort-shell' : 'cancel' }).catch(() => {});
  }

  receive(frame: Frame): void {
    if ('malformed' in frame) return void this.#enqueue(false, () => this.#unreadable(frame.malformed));
    const { value } = frame;
    if (value === null) return void this.#enqueue(false, () => this.#unreadable('null is not an object'));
    const fields = isObject(value) ? value : {};
    if (this.#isAnswer(fields)) return;
    const type = typeName(fields.type);
    const cancelled = CANCELLING.has(type) && { cancelled: this.#cancelRun() };
    const wish: RpcCommand = { id: fields.id ?? undefined, type, fields, ...cancelled };
    const command =
      typeof fields.type === 'string' && Object.hasOwn(COMMANDS, wish.type) ? COMMANDS[wish.type] : undefined;
    if (command === undefined) return void this.#enqueue(false, () => this.#unknown(wish, fields.type));
    if (URGENT.has(wish.type)) this.#urgent(wish, command);
    else if (wish.type === 'bash') this.#shell(wish, command);
    else this.#ordinary(wish, command);
  }

  /** What an extension says to the agent: the client has not asked for it, and is only told when it fails. */
  send(content: readonly ExtensionContent[], whenBusy?: 'steer' | 'followUp'): void {
    void this.#enqueue(true, async () => {
      const prompt = {
        type: 'prompt',
        content: content.map((part) =>
          part.type === 'image'
            ? ({ type: 'image', data: part.data, mediaType: part.mimeType } as const)
            : part,
        ),
        whenBusy: whenBusy === undefined ? 'refuse' : WHEN_BUSY[whenBusy],
      } as const;
      await this.#session.prompt(prompt).catch((thrown: unknown) => {
        const { message: error } = asPolypodError(thrown);
        this.#out.say({ type: 'response', command: 'extension_send_user', success: false, error });
      });
    });
  }

  /** What the client says about our own requests is never answered. */
  #isAnswer(fields: JsonObject): boolean {
    switch (fields.type) {
      case 'extension_ui_response':
        this.#session.ui.answer(fields);
        return true;
      case 'host_tool_update':
        return this.#session.hostTools.update(fields);
      case 'host_tool_result':
        return this.#session.hostTools.result(fields);
      default:
        return false;
    }
  }

  /** At once, but not before the prompt or the command that it is about. */
  #urgent(wish: RpcCommand, command: Command): void {
    this.#waiting += 1;
    const before = wish.type === 'abort_bash' ? this.#beforeAbortBash() : this.#prompts;
    // It overtakes what stands before it, and nothing that stands behind it overtakes it.
    this.#order.add(before.then(() => this.#perform(wish, command)).finally(() => this.#done()));
  }

  /** A command that runs is ended now; one that was just asked for has to begin first. */
  #beforeAbortBash(): Promise<unknown> {
    return this.#shells > 0 ? Promise.resolve() : this.#bash;
  }

  #ordinary(wish: RpcCommand, command: Command): void {
    // A prompt during a run is queued or refused: it need not wait for anything.
    const isOrdered = ORDERED.has(wish.type) && !(wish.type === 'prompt' && this.#session.isBusy);
    const done = this.#enqueue(isOrdered, () => this.#perform(wish, command), LEAVING.has(wish.type));
    if (PROMPTS.has(wish.type)) this.#prompts = Promise.all([this.#prompts, done]);
  }

  #shell(wish: RpcCommand, command: Command): void {
    this.#bash = new Promise((begun) => {
      void this.#enqueue(true, async () => {
        this.#shells += 1;
        const performed = this.#perform(wish, command);
        begun(this.#session.shells.opening);
        await performed;
        this.#shells -= 1;
      });
    });
  }

  /** At once, whatever has to be sent to the client before it learns of the end. */
  #cancelRun(): Promise<CancelledRun | undefined> {
    return cancelRun(this.#session).catch(() => undefined);
  }

  /** Not before the client has taken most of what was said to it. */
  #enqueue(isOrdered: boolean, work: () => void | Promise<void>, isBarrier = false): Promise<void> {
    this.#waiting += 1;
    const next = () => (this.#out.isOverfull ? this.#out.drained().then(work) : work());
    const done = isOrdered ? this.#order.inOrder(next, isBarrier) : this.#order.overtaking(next);
    return done.finally(() => this.#done());
  }

  #done(): void {
    this.#waiting -= 1;
  }

  async #perform(wish: RpcCommand, command: Command): Promise<void> {
    let isAnswered = false;
    const answer = (data?: unknown): void => {
      if (!isAnswered) this.#succeed(wish, data);
      isAnswered = true;
    };
    try {
      answer(await command(wish, this.#session, answer, (awaited) => this.#order.longWait(awaited)));
    } catch (thrown) {
      this.#fail(wish, thrown);
    }
    this.#onAnswered();
  }

  #succeed({ id, type }: RpcCommand, data: unknown): void {
    this.#out.say({
      ...(id === undefined ? {} : { id }),
      type: 'response',
      command: type,
      success: true,
      ...(data === undefined ? {} : { data }),
    });
  }

  /** Every command that could be read is answered under its id and name, whatever went wrong. */
  #fail({ id, type }: RpcCommand, thrown: unknown): void {
    const head = id === undefined ? {} : { id };
    this.#refuse({ ...head, command: type }, refusalText(thrown));
  }

  #unreadable(reason: string): void {
    this.#refuse({ command: 'parse' }, `Failed to parse command: ${reason}`);
  }

  #unknown({ id, type }: RpcCommand, given: unknown): void {
    const head = id === undefined || !this.#echoErrors ? {} : { id };
    const command = given === undefined ? {} : { command: type };
    this.#refuse({ ...head, ...command }, `Unknown command: ${type}`);
  }

  #refuse({ id, command }: { readonly id?: unknown; readonly command?: string }, error: string): void {
    this.#onRefused?.();
    this.#out.say({
      ...(id === undefined ? {} : { id }),
      type: 'response',
      ...(command === undefined ? {} : { command }),
      success: false,
      error: errorText(error),
    });
  }
}

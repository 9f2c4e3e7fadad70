import { asPolypodError, errorText, isObject, type JsonObject } from '../../base/index.ts';
import type { Wish } from './arguments.ts';
import { COMMANDS, type Command } from './commands/index.ts';
import { ANSWERED } from './errors.ts';
import type { Frame } from './frames.ts';
import type { Outbox } from './outbox.ts';
import type { Seat } from './seat.ts';

/** The name of a command as it is sent back; no name of ours is longer. */
function typeName(type: unknown): string {
  return (typeof type === 'object' && type !== null ? JSON.stringify(type) : String(type)).slice(0, 200);
}

/** Commands that take effect at once, whatever is under way. */
const URGENT: ReadonlySet<string> = new Set(['abort', 'abort_bash', 'abort_retry']);
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

/** One client: its frames are read in order, answered in order, and what is urgent is done meanwhile. */
export class RpcLink {
  readonly #seat: Seat;
  readonly #out: Outbox;
  readonly #echoErrors: boolean;
  readonly #onAnswered: () => void;
  readonly #onRefused: (() => void) | undefined;
  #line: Promise<void> = Promise.resolve();
  /** Until all prompts so far have been taken. */
  #prompts: Promise<void> = Promise.resolve();
  /** Until the last `bash` so far has begun. */
  #bash: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(seat: Seat, out: Outbox, options: RpcLinkOptions) {
    this.#seat = seat;
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
    return this.#line;
  }

  receive(frame: Frame): void {
    if ('malformed' in frame) return this.#inLine(() => this.#unreadable(frame.malformed));
    const { value } = frame;
    if (value === null) return this.#inLine(() => this.#unreadable('null is not an object'));
    const fields = isObject(value) ? value : {};
    if (this.#isAnswer(fields)) return;
    const wish: Wish = { id: fields.id ?? undefined, type: typeName(fields.type), fields };
    const command =
      typeof fields.type === 'string' && Object.hasOwn(COMMANDS, wish.type) ? COMMANDS[wish.type] : undefined;
    if (command === undefined) return this.#inLine(() => this.#unknown(wish, fields.type));
    if (URGENT.has(wish.type)) this.#urgent(wish, command);
    else this.#enqueue(wish, command);
  }

  /** What an extension says to the agent: the client has not asked for it, and is only told when it fails. */
  send(text: string): void {
    this.#inLine(async () => {
      const content = [{ type: 'text', text }] as const;
      await this.#seat.prompt({ type: 'prompt', content, whenBusy: 'follow-up' }).catch((thrown: unknown) => {
        const { message: error } = asPolypodError(thrown);
        this.#out.say({ type: 'response', command: 'extension_send_user', success: false, error });
      });
    });
  }

  /** What the client says about our own requests is never answered. */
  #isAnswer(fields: JsonObject): boolean {
    switch (fields.type) {
      case 'extension_ui_response':
        this.#seat.ui.answer(fields);
        return true;
      case 'host_tool_update':
        return this.#seat.hostTools.update(fields);
      case 'host_tool_result':
        return this.#seat.hostTools.result(fields);
      default:
        return false;
    }
  }

  /** At once, but not before the prompt or the command that it is about. */
  #urgent(wish: Wish, command: Command): void {
    if (wish.type === 'abort') this.#cancelRun();
    this.#waiting += 1;
    const before = wish.type === 'abort_bash' ? this.#bash : this.#prompts;
    const done = before.then(() => this.#perform(wish, command)).finally(() => this.#done());
    // It overtakes what stands before it, and nothing that stands behind it overtakes it.
    this.#line = Promise.all([this.#line, done]).then(() => {});
  }

  #enqueue(wish: Wish, command: Command): void {
    if (wish.type === 'abort_and_prompt') this.#cancelRun();
    const before = this.#line;
    this.#inLine(() => this.#perform(wish, command));
    if (PROMPTS.has(wish.type)) this.#prompts = this.#line;
    // Behind the command on the same promise: by then it has begun.
    if (wish.type === 'bash') this.#bash = before.then(() => this.#seat.shells.opening);
  }

  /** Whatever stands in line before the end of the run is told: it ends now. */
  #cancelRun(): void {
    this.#seat.handle({ type: 'cancel' }).catch(() => {});
  }

  /** One after the other, and not before the client has taken most of what was said to it. */
  #inLine(work: () => void | Promise<void>): void {
    this.#waiting += 1;
    const next = () => (this.#out.isOverfull ? this.#out.drained().then(work) : work());
    this.#line = this.#line.then(next).finally(() => this.#done());
  }

  #done(): void {
    this.#waiting -= 1;
  }

  async #perform(wish: Wish, command: Command): Promise<void> {
    let isAnswered = false;
    const answer = (data?: unknown): void => {
      if (!isAnswered) this.#succeed(wish, data);
      isAnswered = true;
    };
    try {
      answer(await command(wish, this.#seat, answer));
    } catch (thrown) {
      this.#fail(wish, thrown, isAnswered);
    }
    this.#onAnswered();
  }

  #succeed({ id, type }: Wish, data: unknown): void {
    this.#out.say({
      ...(id === undefined ? {} : { id }),
      type: 'response',
      command: type,
      success: true,
      ...(data === undefined ? {} : { data }),
    });
  }

  #fail({ id, type }: Wish, thrown: unknown, isLate: boolean): void {
    const { code, message } = asPolypodError(thrown);
    const head = id === undefined ? {} : { id };
    if (isLate || ANSWERED[code] || this.#echoErrors) this.#refuse({ ...head, command: type }, message);
    else this.#unreadable(message);
  }

  #unreadable(reason: string): void {
    this.#refuse({ command: 'parse' }, `Failed to parse command: ${reason}`);
  }

  #unknown({ id, type }: Wish, given: unknown): void {
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

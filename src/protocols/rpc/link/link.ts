import {
  asPolypodError,
  truncateErrorMessage,
  isObject,
  type JsonObject,
  withoutUndefined,
} from '../../../base/index.ts';
import type { CancelledRun, RpcCommand } from '../arguments.ts';
import { CommandOrder } from './command-order.ts';
import { COMMANDS, type CommandHandler } from '../commands/index.ts';
import { cancelRun } from '../sessions/end-run.ts';
import { refusalText } from '../errors.ts';
import type { Frame } from './frames.ts';
import type { Outbox } from '../encode/outbox.ts';
import type { ExtensionContent } from '../parts.ts';
import type { RpcSession } from '../sessions/rpc-session.ts';

/** The name of a command for the response, truncated. No known name is longer. */
function typeName(type: unknown): string {
  return (typeof type === 'object' && type !== null ? JSON.stringify(type) : String(type)).slice(0, 200);
}

/** Commands that take effect at once, whatever is in progress. */
const URGENT: ReadonlySet<string> = new Set(['abort', 'abort_bash', 'abort_retry']);
/** Commands that cancel the run when they are received. */
const CANCELLING: ReadonlySet<string> = new Set(['abort', 'abort_and_prompt']);
/** Commands that change the session: later commands apply to the next session. */
const LEAVING: ReadonlySet<string> = new Set(['new_session', 'switch_session', 'branch', 'fork', 'clone']);
/** Commands that wait for a long one before them, since they may depend on its outcome. All others may overtake it. */
const ORDERED: ReadonlySet<string> = new Set([
  'prompt',
  'abort_and_prompt',
  'bash',
  'compact',
  'export_html',
  ...LEAVING,
]);
const WHEN_BUSY = { steer: 'steer', followUp: 'follow-up' } as const;
/** Commands that a later `abort` applies to. */
const PROMPTS: ReadonlySet<string> = new Set(['prompt', 'abort_and_prompt']);

export interface RpcLinkOptions {
  /** Whether errors that have no id in the protocol carry one anyway. */
  readonly echoErrors: boolean;
  /** Called after each response. */
  readonly onAnswered: () => void;
  /** Called for every request that is refused. */
  readonly onRefused?: (() => void) | undefined;
}

/**
 * Serves one client. Its frames are handled and answered in order; urgent commands, and those that may overtake a long one, run meanwhile.
 */
export class RpcLink {
  readonly #session: RpcSession;
  readonly #out: Outbox;
  readonly #echoErrors: boolean;
  readonly #onAnswered: () => void;
  readonly #onRefused: (() => void) | undefined;
  readonly #order = new CommandOrder();
  /** Resolves when all prompts so far are accepted. */
  #prompts: Promise<unknown> = Promise.resolve();
  /** Resolves when the last `bash` so far has started. */
  #bash: Promise<unknown> = Promise.resolve();
  /** The number of running `bash` commands. */
  #shells = 0;
  #waiting = 0;

  constructor(session: RpcSession, out: Outbox, options: RpcLinkOptions) {
    this.#session = session;
    this.#out = out;
    this.#echoErrors = options.echoErrors;
    this.#onAnswered = options.onAnswered;
    this.#onRefused = options.onRefused;
  }

  /** The number of unanswered commands. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Resolves when all commands so far have been answered. */
  idle(): Promise<void> {
    return this.#order.idle();
  }

  /** Cancels the `bash` or `compact` in progress; its response says so. */
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
    const request: RpcCommand = { id: fields.id ?? undefined, type, fields, ...cancelled };
    const command =
      typeof fields.type === 'string' && Object.hasOwn(COMMANDS, request.type)
        ? COMMANDS[request.type]
        : undefined;
    if (command === undefined) return void this.#enqueue(false, () => this.#unknown(request, fields.type));
    if (URGENT.has(request.type)) this.#urgent(request, command);
    else if (request.type === 'bash') this.#shell(request, command);
    else this.#ordinary(request, command);
  }

  /** Sends a message of an extension to the agent. The client did not request it and is notified only of a failure. */
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
        this.#out.send({ type: 'response', command: 'extension_send_user', success: false, error });
      });
    });
  }

  /** Handles responses of the client to our requests. They are never answered. */
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

  /** Runs at once, but after the prompt or command that it applies to. */
  #urgent(request: RpcCommand, command: CommandHandler): void {
    this.#waiting += 1;
    const before = request.type === 'abort_bash' ? this.#beforeAbortBash() : this.#prompts;
    // It overtakes the commands before it, and later ones do not overtake it.
    this.#order.add(before.then(() => this.#perform(request, command)).finally(() => this.#done()));
  }

  /** A running command is ended now; one that was just requested must start first. */
  #beforeAbortBash(): Promise<unknown> {
    return this.#shells > 0 ? Promise.resolve() : this.#bash;
  }

  #ordinary(request: RpcCommand, command: CommandHandler): void {
    // A prompt during a run is queued or refused, so it does not need to wait.
    const isOrdered = ORDERED.has(request.type) && !(request.type === 'prompt' && this.#session.isBusy);
    const done = this.#enqueue(isOrdered, () => this.#perform(request, command), LEAVING.has(request.type));
    if (PROMPTS.has(request.type)) this.#prompts = Promise.all([this.#prompts, done]);
  }

  #shell(request: RpcCommand, command: CommandHandler): void {
    this.#bash = new Promise((begun) => {
      void this.#enqueue(true, async () => {
        this.#shells += 1;
        const performed = this.#perform(request, command);
        begun(this.#session.shells.opening);
        await performed;
        this.#shells -= 1;
      });
    });
  }

  /** Cancels at once, even if the client must read earlier output before it learns of the end. */
  #cancelRun(): Promise<CancelledRun | undefined> {
    return cancelRun(this.#session).catch(() => undefined);
  }

  /** Starts after the client has read most of the earlier output. */
  #enqueue(isOrdered: boolean, work: () => void | Promise<void>, isBarrier = false): Promise<void> {
    this.#waiting += 1;
    const next = () => (this.#out.isOverfull ? this.#out.drained().then(work) : work());
    const done = isOrdered ? this.#order.inOrder(next, isBarrier) : this.#order.overtaking(next);
    return done.finally(() => this.#done());
  }

  #done(): void {
    this.#waiting -= 1;
  }

  async #perform(request: RpcCommand, command: CommandHandler): Promise<void> {
    let isAnswered = false;
    const answer = (data?: unknown): void => {
      if (!isAnswered) this.#succeed(request, data);
      isAnswered = true;
    };
    try {
      answer(await command(request, this.#session, answer, (awaited) => this.#order.longWait(awaited)));
    } catch (thrown) {
      this.#fail(request, thrown);
    }
    this.#onAnswered();
  }

  #succeed({ id, type }: RpcCommand, data: unknown): void {
    this.#out.send({
      ...withoutUndefined({ id }),
      type: 'response',
      command: type,
      success: true,
      ...withoutUndefined({ data }),
    });
  }

  /** Every parsed command is answered with its id and name, whatever the error. */
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
    this.#out.send({
      ...withoutUndefined({ id }),
      type: 'response',
      ...withoutUndefined({ command }),
      success: false,
      error: truncateErrorMessage(error),
    });
  }
}

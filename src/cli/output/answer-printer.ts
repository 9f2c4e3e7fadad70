import { once } from 'node:events';
import type { Writable } from 'node:stream';
import {
  costOf,
  type Failure,
  type LlmEvent,
  type Model,
  type Shortfall,
  shortfallOf,
  type StopReason,
  type Usage,
} from '../../llm/index.ts';
import { dollars } from './dollars.ts';
import type { CommandContext } from '../command.ts';
import { explainShortfall } from './shortfall.ts';
import {
  type TextColors,
  brush,
  wantsColour,
  sanitizeLine,
  type TextStream,
  textStreamFor,
} from '../../terminal/index.ts';

/** Prints an answer. */
export interface Printer {
  /** Whether a part of an answer is printed before its end. A retry would then print that part twice. */
  readonly isStreaming: boolean;
  print(events: readonly LlmEvent[], model: Model): Promise<void>;
  retry(notice: RetryNotice): void;
}

/** The request will be sent again. */
export interface RetryNotice {
  readonly type: 'retry';
  readonly attempt: number;
  readonly delayMs: number;
  readonly failure: Failure;
}

/** For programs: prints every event unchanged. */
export class JsonPrinter implements Printer {
  readonly isStreaming = true;
  readonly #stdout: Writable;

  constructor(stdout: Writable) {
    this.#stdout = stdout;
  }

  async print(events: readonly LlmEvent[]): Promise<void> {
    await write(this.#stdout, events.map((event) => `${JSON.stringify(event)}\n`).join(''));
  }

  retry(notice: RetryNotice): void {
    this.#stdout.write(`${JSON.stringify(notice)}\n`);
  }
}

/**
 * For people: the answer on stdout; notices, and on a terminal also thinking and totals, on stderr. A terminal shows the answer as it
 * arrives. A pipe receives it when it is completed: a fragment would look like an answer.
 */
export class AnswerPrinter implements Printer {
  readonly isStreaming: boolean;
  readonly #context: CommandContext;
  readonly #quiet: boolean;
  readonly #isVerbose: boolean;
  readonly #paint: TextColors;
  readonly #answers: TextStream;
  readonly #comments: TextStream;
  #endsWithNewline = true;
  #hasText = false;
  /** The text for a pipe. */
  #pending = '';
  #usage: Usage | undefined;

  constructor(context: CommandContext, quiet: boolean) {
    this.isStreaming = context.stdout.isTTY === true;
    this.#context = context;
    this.#quiet = quiet;
    this.#isVerbose = !quiet && context.stderr.isTTY === true;
    this.#paint = brush(wantsColour(context.stderr, context.env));
    this.#answers = textStreamFor(context.stdout);
    this.#comments = textStreamFor(context.stderr);
  }

  async print(events: readonly LlmEvent[], model: Model): Promise<void> {
    let text = '';
    for (const event of events) {
      if (event.type === 'block-delta' && event.delta.type === 'text') {
        text += event.delta.text;
        this.#hasText ||= event.delta.text.trim() !== '';
      } else text = await this.#printOther(event, text, model);
    }
    await this.#answer(text);
  }

  retry({ attempt, delayMs, failure }: RetryNotice): void {
    this.#hasText = false;
    if (this.#quiet) return;
    const seconds = (delayMs / 1000).toFixed(1);
    this.#context.stderr.write(
      `polypod: ${sanitizeLine(failure.message)}; attempt ${attempt} in ${seconds} s\n`,
    );
  }

  /** Prints an event that is not text. Collected text is flushed first, to keep the order on a terminal. */
  async #printOther(event: LlmEvent, text: string, model: Model): Promise<string> {
    if (event.type === 'usage') this.#usage = event;
    if (event.type === 'block-delta' && event.delta.type === 'thinking') {
      await this.#answer(text);
      this.#comment(event.delta.text);
      return '';
    }
    if (event.type === 'block-stop' && event.blockType === 'thinking') this.#comment('\n\n');
    if (event.type !== 'status' || event.status === 'started') return text;
    await this.#answer(text);
    if (event.status === 'completed') await this.#write(this.#pending);
    this.#pending = '';
    await this.#write(this.#answers.end());
    if (!this.#endsWithNewline) await this.#write('\n');
    if (event.status === 'completed') this.#note(event.stopReason);
    if (event.status === 'completed' && this.#usage) this.#comment(`${figures(this.#usage, model)}\n`);
    return '';
  }

  async #answer(text: string): Promise<void> {
    const printable = this.#answers.push(text);
    if (this.isStreaming) await this.#write(printable);
    else this.#pending += printable;
  }

  async #write(text: string): Promise<void> {
    if (text === '') return;
    this.#endsWithNewline = text.endsWith('\n');
    await write(this.#context.stdout, text);
  }

  #comment(text: string): void {
    if (this.#isVerbose) this.#context.stderr.write(this.#paint.dim(this.#comments.push(text)));
  }

  #note(stopReason: StopReason): void {
    const shortfall = shortfallOf(stopReason, this.#hasText);
    const unknown = stopReason === 'other' ? UNKNOWN_STOP : undefined;
    const note = shortfall === undefined ? unknown : explainShortfall(shortfall, STEPS);
    if (note !== undefined && !this.#quiet) this.#context.stderr.write(`polypod: ${note}\n`);
  }
}

const UNKNOWN_STOP = 'the provider did not say why it stopped; the answer may be incomplete';

const STEPS: Readonly<Record<Shortfall, string>> = {
  'max-tokens': '--max-tokens raises the limit',
  refusal: 'rephrase the prompt',
  'content-filter': 'rephrase the prompt',
  'context-full': 'shorten the prompt',
  empty: 'rephrase the prompt, or use another model with --model',
};

function figures(usage: Usage, model: Model): string {
  const cost = costOf(model, usage)?.total;
  const parts = [
    `${model.account}/${model.id}`,
    `${usage.inputTokens ?? '?'} tokens in`,
    `${usage.outputTokens ?? '?'} out`,
    ...(cost === undefined ? [] : [dollars(cost)]),
  ];
  return parts.join(' · ');
}

async function write(stream: Writable, text: string): Promise<void> {
  if (text !== '' && !stream.write(text)) await once(stream, 'drain');
}

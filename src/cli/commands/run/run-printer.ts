import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { dollars } from '../../output/dollars.ts';
import type { Item } from '../../../llm/index.ts';
import type { PodFact } from '../../../pod/index.ts';
import type { CallStatus, RunOutcome, Totals } from '../../../worker/index.ts';
import type { CommandContext } from '../../command.ts';
import {
  type TextColors,
  brush,
  colourDiff,
  wantsColour,
  sanitizeLine,
  sanitizeLines,
  withoutColours,
  type TextStream,
  textStreamFor,
  fitWidth,
} from '../../../terminal/index.ts';
import { StatusLine } from '../../output/status-line.ts';
import { lastAnswerIn } from './last-answer.ts';
import { PipedSteps } from './piped-steps.ts';
import { type RunStep, stepOf } from './run-steps.ts';

const DIFF_LINES = 60;
const SUMMARY_WIDTH = 160;

/** Prints a run as it happens: the answer on stdout, tool calls and notices on stderr. */
export class RunPrinter {
  readonly #context: CommandContext;
  readonly #quiet: boolean;
  readonly #paint: TextColors;
  readonly #status: StatusLine;
  readonly #isTerminal: boolean;
  readonly #answers: TextStream;
  readonly #thoughts: TextStream;
  readonly #piped: PipedSteps | undefined;
  #endsWithNewline = true;
  /** Whether stderr is at the start of a line although the last line of the answer is unfinished. */
  #hasRoom = false;
  /** The characters that the model has sent: providers report their token count only at the end of an answer. */
  #written = 0;
  #thinking = false;

  constructor(context: CommandContext, quiet: boolean) {
    this.#context = context;
    this.#quiet = quiet;
    this.#isTerminal = context.stderr.isTTY === true;
    this.#answers = textStreamFor(context.stdout);
    this.#thoughts = textStreamFor(context.stderr);
    this.#piped = context.stdout.isTTY === true ? undefined : new PipedSteps();
    this.#paint = brush(wantsColour(context.stderr, context.env));
    this.#status = new StatusLine(context, this.#isTerminal && !quiet);
  }

  /** Prints events of a run. A terminal shows the answer as it arrives; a pipe receives only the final answer. */
  print(events: readonly PodFact[]): void {
    this.show(events.flatMap((event) => this.#piped?.of(event) ?? streamedSteps(event)));
  }

  /** Continues after events were lost. If the end of the run was among them, the answer is the end of the conversation. */
  showGap(items: readonly Item[], outcome: RunOutcome | undefined): void {
    this.#breakLine();
    this.#piped?.restore(items);
    if (outcome?.status === 'finished') this.#answer(lastAnswerIn(items));
  }

  show(steps: readonly RunStep[]): void {
    let text = '';
    for (const step of steps) {
      if (step.type === 'answer') {
        this.#count(step.text.length);
        text += step.text;
      } else {
        this.#answer(text);
        text = '';
        this.#show(step);
      }
    }
    this.#answer(text);
  }

  /** Starts a new line for a question; the output after it starts on a new line too. */
  pause(): void {
    this.#breakLine();
    this.#status.clear();
    this.#status.set('');
  }

  /** Starts a new line for stderr. If stdout is not a terminal, the answer is not interrupted. */
  makeRoom(): void {
    const { stdout, stderr } = this.#context;
    if (stdout.isTTY === true) this.#breakLine();
    this.#status.clear();
    if (!this.#quiet && !this.#endsWithNewline && !this.#hasRoom) stderr.write('\n');
    this.#hasRoom = true;
  }

  end(): void {
    this.#breakLine();
    this.#status.end();
  }

  /** Waits until the output is flushed. */
  async drained(): Promise<void> {
    const { stdout } = this.#context;
    if (stdout.writableNeedDrain) await once(stdout, 'drain');
  }

  #show(step: Exclude<RunStep, { readonly type: 'answer' }>): void {
    const paint = this.#paint;
    switch (step.type) {
      case 'activity':
        this.#status.set(step.text);
        return;
      case 'output':
        this.#status.set(lastLineOf(step.text));
        return;
      case 'comment':
        this.#note(sanitizeLines(step.text.trim()).join('\n'));
        return;
      case 'thought':
        this.#count(step.text.length);
        this.#thought(step.text);
        return;
      case 'thought-end':
        if (this.#thinking) this.#thought('\n');
        this.#thinking = false;
        return;
      case 'arguments':
        this.#count(step.length);
        return;
      case 'tool-start':
        this.#note(`${paint.cyan('●')} ${sanitizeLine(step.title)}`);
        this.#status.set(step.title);
        return;
      case 'tool-end':
        this.#toolEnd(step.status, step.summary, step.diff);
        return;
      case 'retry':
        this.#note(
          paint.dim(`  ${sanitizeLine(step.message)}; retrying in ${(step.delayMs / 1000).toFixed(1)} s`),
        );
        return;
      case 'compaction':
        this.#note(paint.dim('  the context is full: summarising the conversation'));
        return;
      case 'run-end':
        this.#runEnd(step.totals);
    }
  }

  #count(characters: number): void {
    this.#written += characters;
    this.#status.count(Math.round(this.#written / 4));
  }

  #toolEnd(status: CallStatus, summary: string, diff: string): void {
    const paint = this.#paint;
    const line = fitWidth(sanitizeLine(withoutColours(summary)), SUMMARY_WIDTH);
    this.#note(
      `  ${status === 'done' ? paint.green('✓') : paint.red('✗')} ${status === 'done' ? line : `${status}: ${line}`}`,
    );
    if (diff !== '') this.#note(indented(colourDiff(diff, paint, DIFF_LINES)));
    this.#status.set('');
  }

  #runEnd(totals: Totals): void {
    this.#status.set('');
    if (this.#isTerminal) this.#note(this.#paint.dim(figures(totals)));
  }

  #answer(piece: string): void {
    const text = this.#answers.push(piece);
    if (text === '') return;
    this.#status.clear();
    this.#endsWithNewline = text.endsWith('\n');
    this.#hasRoom = false;
    this.#status.hold(!this.#endsWithNewline);
    this.#context.stdout.write(text);
  }

  #thought(text: string): void {
    if (this.#quiet || !this.#isTerminal) return;
    if (!this.#thinking) this.#breakLine();
    this.#thinking = true;
    this.#status.clear();
    this.#status.hold(!text.endsWith('\n'));
    this.#context.stderr.write(this.#paint.dim(this.#thoughts.push(text)));
  }

  #note(text: string): void {
    if (this.#quiet) return;
    this.#breakLine();
    this.#status.clear();
    this.#context.stderr.write(`${text}\n`);
  }

  #breakLine(): void {
    const rest = this.#answers.end();
    if (this.#endsWithNewline && rest === '') return;
    this.#endsWithNewline = true;
    this.#status.hold(false);
    this.#context.stdout.write(`${rest}\n`);
  }
}

function streamedSteps(event: PodFact): readonly RunStep[] {
  const step = stepOf(event);
  return step === undefined ? [] : [step];
}

/** For programs: prints every event unchanged. */
export function jsonPrinter(
  stdout: Writable,
): Pick<RunPrinter, 'print' | 'showGap' | 'pause' | 'makeRoom' | 'end' | 'drained'> {
  return {
    print: (events) => void stdout.write(events.map((event) => `${JSON.stringify(event)}\n`).join('')),
    showGap: () => {},
    pause: () => {},
    makeRoom: () => {},
    end: () => {},
    drained: async () => {
      if (stdout.writableNeedDrain) await once(stdout, 'drain');
    },
  };
}

function figures(totals: Totals): string {
  const parts = [
    `${totals.turns} ${totals.turns === 1 ? 'turn' : 'turns'}`,
    `${totals.toolCalls} ${totals.toolCalls === 1 ? 'call' : 'calls'}`,
    `${totals.inputTokens} tokens in`,
    `${totals.outputTokens} out`,
    ...(totals.cost === undefined || totals.cost === 0 ? [] : [dollars(totals.cost)]),
  ];
  return parts.join(' · ');
}

/** Programs redraw their progress in one line. */
function lastLineOf(text: string): string {
  return sanitizeLines(withoutColours(text.trimEnd().split('\n').at(-1) ?? '')).at(-1) ?? '';
}

function indented(text: string): string {
  return text
    .split('\n')
    .map((line) => `    ${line}`)
    .join('\n');
}

import { stringOf } from '../../../base/index.ts';
import type { TaskEvent, TaskStatus, WatchUpdate } from '../../../client/index.ts';
import type { CommandContext } from '../../command.ts';
import { RunPrinter } from '../run/run-printer.ts';
import { sanitizeLine } from '../../../terminal/index.ts';
import type { TaskValues } from './options.ts';
import { showResult } from './result.ts';
import { TaskSteps } from './task-steps.ts';
import { type TaskQuestion, type TaskOutput, WaitingView } from './view.ts';

/** Shows a task as it happens, as `polypod run` shows a run: the answer on stdout, tool calls and notices on stderr. */
export class LiveView implements TaskOutput {
  readonly #context: CommandContext;
  readonly #printer: RunPrinter;
  readonly #waiting: WaitingView;
  readonly #steps = new TaskSteps();
  /** Whether the complete answer was shown: a missing part is printed with the result. */
  #isWhole: boolean;

  constructor(context: CommandContext, values: TaskValues) {
    this.#context = context;
    this.#printer = new RunPrinter(context, values.quiet);
    this.#waiting = new WaitingView(context, values);
    this.#isWhole = values.after === undefined && !values.poll;
  }

  take(watched: WatchUpdate): void {
    if (watched.type === 'event') {
      this.#event(watched.event);
      return;
    }
    if (watched.type === 'polling') this.#isWhole = false;
    this.#printer.makeRoom();
    this.#waiting.take(watched);
  }

  ask(approvals: readonly TaskQuestion[]): void {
    this.#printer.pause();
    this.#waiting.ask(approvals);
  }

  end(status: TaskStatus): void {
    this.close();
    showResult(status, this.#context, { withText: !this.#isWhole });
  }

  close(): void {
    this.#printer.end();
    this.#waiting.close();
  }

  #event(event: TaskEvent): void {
    const { data } = event;
    switch (event.event) {
      case 'snapshot':
        this.#isWhole = false;
        if (data.reason === 'gap') this.#waiting.note('some events are no longer available');
        return;
      case 'queued':
      case 'approval_request':
      case 'approval_resolved':
        this.#printer.pause();
        this.#waiting.take({ type: 'event', event });
        return;
      case 'error':
        this.#printer.pause();
        this.#waiting.note(sanitizeLine(stringOf(data.message)));
        return;
      // The status contains the outcome.
      case 'run_end':
        return;
      default:
        this.#waiting.yieldLine();
        this.#printer.show(this.#steps.of(event));
    }
  }
}

import { stringOf } from '../../../base/index.ts';
import type { TaskApproval, TaskEvent, TaskStatus, WatchUpdate } from '../../../client/index.ts';
import type { CommandContext } from '../../command.ts';
import { callDetails } from '../../output/call-details.ts';
import { StatusLine } from '../../output/status-line.ts';
import { sanitizeLine } from '../../../terminal/index.ts';
import { commandLine } from './command-line.ts';
import type { TaskValues } from './options.ts';
import { progressBar } from './progress-bar.ts';
import { showResult } from './result.ts';

/** The fields of an approval that a person needs to decide it. */
export type TaskQuestion = Pick<TaskApproval, 'approvalId' | 'tool' | 'title' | 'arguments'>;

/** Shows a task while it is followed. */
export interface TaskOutput {
  take(watched: WatchUpdate): void;
  /** Shows pending approvals, each once. */
  ask(approvals: readonly TaskQuestion[]): void;
  /** Shows the result. */
  end(status: TaskStatus): void;
  close(): void;
}

/** Waits quietly: a status line on a terminal, approvals and notices on stderr, and the result at the end. */
export class WaitingView implements TaskOutput {
  readonly #context: CommandContext;
  readonly #values: TaskValues;
  readonly #line: StatusLine;
  readonly #asked = new Set<string>();
  #state = '';

  constructor(context: CommandContext, values: TaskValues) {
    this.#context = context;
    this.#values = values;
    this.#line = new StatusLine(context, context.stderr.isTTY === true && !values.quiet);
    this.#line.set('waiting');
  }

  take(watched: WatchUpdate): void {
    switch (watched.type) {
      case 'lost':
        this.note(`${sanitizeLine(watched.why)}; retrying`);
        this.#line.set('reconnecting');
        return;
      case 'back':
        this.note('reconnected');
        this.#line.set(this.#state);
        return;
      case 'polling':
        this.note(`${sanitizeLine(watched.why)}: polling the status`);
        return;
      case 'status':
        this.#show(watched.status);
        return;
      case 'event':
        this.#event(watched.event);
    }
  }

  ask(approvals: readonly TaskQuestion[]): void {
    for (const question of approvals) {
      const { approvalId, tool, title } = question;
      if (this.#asked.has(approvalId)) continue;
      this.#asked.add(approvalId);
      const [approve, deny] = [
        commandLine(['approve', approvalId], this.#values),
        commandLine(['deny', approvalId, '--comment', 'WHY'], this.#values),
      ];
      this.#line.clear();
      this.#context.stderr.write(
        `polypod task: waiting for an approval: ${sanitizeLine(tool)}: ${sanitizeLine(title)}\n${callDetails(question)}  ${approve}\n  ${deny}\n`,
      );
      this.#line.set('waiting for an approval');
    }
  }

  end(status: TaskStatus): void {
    this.close();
    showResult(status, this.#context, { withText: true });
  }

  close(): void {
    this.#line.end();
  }

  /** Prints a notice, unless only the result is wanted. */
  note(text: string): void {
    if (this.#values.quiet) return;
    this.#line.clear();
    this.#context.stderr.write(`polypod task: ${text}\n`);
  }

  /** Clears the status line for other output. */
  yieldLine(): void {
    this.#line.clear();
    this.#line.set('');
  }

  #event({ event, data }: TaskEvent): void {
    if (event === 'queued') this.#report('pending', 'waiting for its turn');
    if (event === 'run_start') this.#report('running', 'running');
    if (event === 'approval_resolved')
      this.note(sanitizeLine(`${stringOf(data.status)} by ${stringOf(data.by) || 'nobody'}`));
    if (event === 'approval_request') {
      const [tool, title, json] = [stringOf(data.tool), stringOf(data.title), stringOf(data.arguments)];
      this.ask([
        { approvalId: stringOf(data.approval_id), tool, title, ...(json !== '' && { arguments: json }) },
      ]);
    }
  }

  #show({ status, state = status, progress }: TaskStatus): void {
    this.#report(state, [progressBar(progress), state.replaceAll('_', ' ')].filter(Boolean).join(' '));
  }

  /** Without a terminal, every change is printed as a line. */
  #report(state: string, text: string): void {
    this.#line.set(text);
    if (state === this.#state) return;
    this.#state = state;
    if (this.#context.stderr.isTTY !== true) this.note(sanitizeLine(text));
  }
}

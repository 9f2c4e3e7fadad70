import { createInterface } from 'node:readline';
import { onAbort } from '../../base/index.ts';
import type { Approval } from '../../pod/index.ts';
import { EXIT, type ExitCode, type CommandContext } from '../command.ts';
import { QuestionNumbers } from '../output/question-numbers.ts';
import { HEADLESS_CHAT } from '../hosting/headless-approvals.ts';
import { PlainOutput } from '../../terminal/index.ts';
import { answerIn } from './screen/approval-dialog.ts';
import { Presenter } from './screen/presenter.ts';
import { notice, type Print } from './view/print.ts';
import { questionAbout } from './screen/question.ts';
import { type Accepted, ChatSession } from './chat-session.ts';
import type { ChatOptions } from './terminal-chat.ts';
import { isBusy, type RunEnd } from './view/view.ts';

const NOBODY = 'Nobody can be asked in this chat: find another way, or say what you need.';

export interface PlainChatOptions extends Omit<ChatOptions, 'history' | 'settings'> {
  /** Leave pending approvals to other clients when the input has ended. */
  readonly hasJoined: boolean;
}

const LEFT = 'no one can answer here: the approval stays pending (polypod approvals, polypod attach)';

/** A chat in lines, for pipes and simple terminals: each input line is sent when the previous one is done. */
export async function plainChat(
  { location, pod, prompt, hasJoined }: PlainChatOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const surface = new PlainOutput(context.stdout);
  const presenter = new Presenter({ width: () => surface.size.columns, key: '', marks: true });
  const print = (prints: readonly Print[]): void => surface.print(presenter.lines(prints));
  const changes = new Changes();
  const leaving = new AbortController();
  const leave = (): void => {
    leaving.abort();
    changes.notify();
  };
  const lines = new Lines(context.stdin, () => changes.notify());
  const forget = onAbort(context.signal, leave);
  let code: ExitCode = EXIT.ok;
  const worsen = (other: ExitCode): void => {
    if (code === EXIT.ok) code = other;
  };
  try {
    location.notices.listen((text) => print([notice(text, 'warning')]));
    const session = await ChatSession.open(location, pod, {
      now: () => performance.now(),
      print,
      onView: () => changes.notify(),
      leave,
      lost: () => {
        worsen(EXIT.broken);
        leave();
      },
      suggest: (text) => print([notice(`the text was: ${text}`)]),
      copy: () => false,
      pick: undefined,
      askAgain: () => {},
    });
    let due: Accepted['isOver'] = (view) => !isBusy(view);
    let next: string | undefined = prompt;
    /** Whether the current run was started here: an interrupt cancels only such a run. */
    let isOwnRun = false;
    /** The id of the approval that is being asked. */
    let posed: string | undefined;
    const numbers = new QuestionNumbers();
    /** The id of the approval that was left to other clients, so that the notice is printed once. */
    let left: string | undefined;
    while (!leaving.signal.aborted) {
      const [approval] = session.view.approvals;
      numbers.add(session.view.approvals);
      if (approval !== undefined && approval.approvalId !== posed) show(approval);
      if (approval !== undefined && !isLeft(approval)) {
        if (!(await answered(approval))) await changes.next();
      } else if (approval !== undefined && !location.survivesExit && !session.view.hasOtherClients) {
        // The approval belongs to an earlier run in this process; it is pending again when the session is resumed.
        worsen(EXIT.usage);
        break;
      } else if (!due(session.view)) await changes.next();
      else {
        const text = next ?? lines.take();
        next = undefined;
        if (text === undefined && lines.isOver) break;
        if (text === undefined) await changes.next();
        else if (text.trim() !== '') await submit(text);
      }
    }
    if (context.signal.aborted) {
      worsen(EXIT.interrupted);
      if (isOwnRun && isBusy(session.view)) await session.cancel();
    }
    await session.close();
    return code;

    async function submit(text: string): Promise<void> {
      const accepted = await session.submit({ text, paths: [], whenBusy: 'follow-up' });
      if (accepted === undefined) return worsen(EXIT.usage);
      isOwnRun = accepted.isRun;
      due = (view) => {
        if (!accepted.isOver(view)) return false;
        if (accepted.isRun) worsen(codeOf(view.lastRun));
        return true;
      };
    }

    /** Asks the pending approvals one at a time, in order. */
    function show(approval: Approval): void {
      posed = approval.approvalId;
      print([{ type: 'question', approval, number: numbers.of(posed) }]);
      // On a terminal, input that was typed before the question appeared is not an answer to it.
      if (context.stdin.isTTY === true) lines.drop();
    }

    /** Whether an approval is left to other clients: the input has ended, and another client can answer. */
    function isLeft({ approvalId }: Approval): boolean {
      const isOurs = isOwnRun && !due(session.view) && !hasJoined && !session.view.hasOtherClients;
      if (!lines.isOver || isOurs) return false;
      if (left !== approvalId) print([notice(LEFT)]);
      left = approvalId;
      return true;
    }

    /** Returns whether there was input to answer with. */
    async function answered({ approvalId, ...approval }: Approval): Promise<boolean> {
      const { rule } = questionAbout({ approvalId, ...approval });
      const text = lines.take();
      if (text === undefined && !lines.isOver) return false;
      if (text === undefined) worsen(EXIT.usage);
      const [answer, by] =
        text === undefined
          ? [{ type: 'deny', comment: NOBODY } as const, HEADLESS_CHAT]
          : [answerIn(text, { rule }), undefined];
      if (answer === undefined || answer.type === 'later')
        print([
          notice(
            `answer with y, ${rule === undefined ? '' : 'a (always), p (in this project), '}or n and what to do instead`,
          ),
        ]);
      else if (await session.decide(approvalId, answer, by)) await gone(approvalId);
      return true;
    }

    async function gone(approvalId: string): Promise<void> {
      while (!leaving.signal.aborted && session.view.approvals.some((each) => each.approvalId === approvalId))
        await changes.next();
    }
  } finally {
    forget();
    lines.close();
  }
}

function codeOf(run: RunEnd | undefined): ExitCode {
  switch (run?.outcome.status) {
    case undefined:
    case 'finished':
      return EXIT.ok;
    case 'cancelled':
      return EXIT.interrupted;
    case 'failed':
      return ['auth', 'unknown-model'].includes(run.outcome.failure.kind) ? EXIT.usage : EXIT.broken;
    case 'interrupted':
      return EXIT.broken;
    default:
      return EXIT.failed;
  }
}

/** Lets a caller wait for the next change. A change that happened before the call resolves it at once. */
class Changes {
  #hasChanged = false;
  #wake: (() => void) | undefined;

  notify(): void {
    this.#hasChanged = true;
    this.#wake?.();
  }

  async next(): Promise<void> {
    if (!this.#hasChanged)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    this.#hasChanged = false;
    this.#wake = undefined;
  }
}

/** The input lines in order of arrival. */
class Lines {
  readonly #reader: ReturnType<typeof createInterface>;
  readonly #waiting: string[] = [];
  #isClosed = false;

  constructor(input: CommandContext['stdin'], onChange: () => void) {
    this.#reader = createInterface({ input });
    this.#reader.on('line', (text) => {
      this.#waiting.push(text);
      onChange();
    });
    this.#reader.on('close', () => {
      this.#isClosed = true;
      onChange();
    });
  }

  get isOver(): boolean {
    return this.#isClosed && this.#waiting.length === 0;
  }

  take(): string | undefined {
    return this.#waiting.shift();
  }

  drop(): void {
    this.#waiting.splice(0);
  }

  close(): void {
    this.#reader.close();
  }
}

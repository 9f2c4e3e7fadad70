import {
  type EditorState,
  fitLine,
  type Line,
  type LiveArea,
  line,
  menuLines,
  renderEditor,
  span,
  stackLive,
  staticLive,
} from '../../../terminal/index.ts';
import { cardLines } from './cards.ts';
import { activityLine, FRAME_MS, statusLine } from './activity.ts';
import { textOf } from '../view/answer-steps.ts';
import { compactCount, statusTexts } from './status.ts';
import { todoLines } from './todo-lines.ts';
import { isBusy, type Running, type View } from '../view/view.ts';

const DIM = { dim: true } as const;
const MENU_ROWS = 8;
/** More queued messages than this are only counted. */
const MOST_QUEUED = 3;
const LANES = { prompt: 'then', steer: 'steers', 'follow-up': 'afterwards' } as const;

export interface Area {
  readonly view: View | undefined;
  /** The lines of the answer that can still change. */
  readonly open: readonly Line[];
  /** Shown instead of the input while an approval is asked. */
  readonly question: LiveArea | undefined;
  readonly editor: EditorState;
  /** The text before the input, such as `> `. */
  readonly prompt: string;
  readonly hint: string | undefined;
  readonly defaultMode: string | undefined;
}

/** Draws everything below the finished text: the end of the answer, the activity, the todos, the input, and the status line. */
export function chatArea(
  { view, open, question, editor, prompt, hint, defaultMode }: Area,
  { columns, rows }: { readonly columns: number; readonly rows: number },
  now: number,
): LiveArea & { readonly redrawAfterMs: number | undefined } {
  const above = view === undefined ? [] : activityLines(view, columns, now);
  // A question needs the space: the todos are folded to one line.
  const todos = todoLines(view?.todos ?? [], { columns, rows: question === undefined ? rows : 0 });
  const gap = open.length > 0 && above.length > 0 ? [line('')] : [];
  const todoGap = todos.length > 0 ? [line('')] : [];
  const input =
    question ??
    renderEditor(editor, {
      width: columns,
      rows: Math.max(3, Math.ceil(rows / 3)),
      prompt,
      placeholder:
        view !== undefined && isBusy(view) ? 'steer the run, or wait' : 'type a message, /help for more',
    });
  const menu = question === undefined ? menuLines(editor, columns, MENU_ROWS) : [];
  const hints = hint === undefined ? [] : [fitLine([span(hint, DIM)], columns)];
  const foot = view === undefined ? [] : [footLine(view, defaultMode, columns)];
  const isMoving =
    view !== undefined &&
    !view.isAway &&
    (view.state === 'running' || view.calls.length + view.shells.length > 0);
  return {
    ...stackLive([
      staticLive([...open, ...gap, ...above, ...todoGap, ...todos, line('')]),
      input,
      staticLive([...menu, ...hints, ...foot]),
    ]),
    redrawAfterMs: isMoving ? FRAME_MS : undefined,
  };
}

/** The current activity: running calls, the state of the model, and queued messages. */
function activityLines(view: View, columns: number, now: number): Line[] {
  const running = [...view.calls, ...view.shells].flatMap((each) => runningLines(each, columns, now));
  const isCompacting = view.activity === 'summarising the conversation';
  const activity =
    isBusy(view) && !view.isAway && (view.state === 'running' || isCompacting)
      ? [activityIn(view, columns, now)]
      : [];
  const queued = view.queue
    .slice(0, MOST_QUEUED)
    .map(({ lane, content }) =>
      fitLine([span(`↳ ${LANES[lane]}: ${textOf(content).replace(/\s+/g, ' ')}`, DIM)], columns),
    );
  const more = view.queue.length - queued.length;
  const rest = more > 0 ? [fitLine([span(`  … ${more} more queued`, DIM)], columns)] : [];
  return [...running, ...activity, ...queued, ...rest];
}

function footLine(view: View, defaultMode: string | undefined, columns: number): Line {
  const { left, right } = statusTexts(view, defaultMode, columns);
  return statusLine(left, right, columns);
}

function runningLines({ title, text, startedAt }: Running, width: number, now: number): Line[] {
  const card = {
    type: 'tool',
    title,
    status: 'running',
    durationMs: now - startedAt,
    summary: '',
    diff: '',
    output: text,
  } as const;
  return cardLines(card, { width, expanded: false, key: '' });
}

function activityIn({ activity, since, written, thoughts }: View, columns: number, now: number): Line {
  const [thought] = thoughts.values();
  const text = thought === undefined ? activity : `thinking: ${thought.text.trim().split('\n').at(-1) ?? ''}`;
  // About four characters per token.
  const notes = written === 0 ? [] : [`~${compactCount(Math.ceil(written / 4))} tokens`];
  return activityLine({ text, elapsedMs: Math.max(0, now - since), notes }, columns);
}

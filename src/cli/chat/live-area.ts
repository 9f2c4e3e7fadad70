import { activityLine, cardLines, type Line, fitLine, span, statusLine } from '../terminal/index.ts';
import { textOf } from './answer-steps.ts';
import { figures, inShort, whereOneIs } from './status.ts';
import { isBusy, type Running, type View } from './view.ts';

const DIM = { dim: true } as const;
/** More than so many are counted. */
const MOST_QUEUED = 3;
const LANES = { prompt: 'then', steer: 'steers', 'follow-up': 'afterwards' } as const;

/** What goes on now: calls that run, what the model does, and what waits for it. */
export function goingOn(view: View, columns: number, now: number): Line[] {
  const running = [...view.calls, ...view.shells].flatMap((each) => runningLines(each, columns, now));
  const isCompacting = view.activity === 'summarising the conversation';
  const activity =
    isBusy(view) && (view.state === 'running' || isCompacting) ? [activityIn(view, columns, now)] : [];
  const queued = view.queue
    .slice(0, MOST_QUEUED)
    .map(({ lane, content }) =>
      fitLine([span(`↳ ${LANES[lane]}: ${textOf(content).replace(/\s+/g, ' ')}`, DIM)], columns),
    );
  const more = view.queue.length - queued.length;
  const rest = more > 0 ? [fitLine([span(`  … ${more} more wait`, DIM)], columns)] : [];
  return [...running, ...activity, ...queued, ...rest];
}

/** The last line of the screen. */
export function footLine(view: View, usualMode: string | undefined, columns: number): Line {
  return statusLine(whereOneIs(view, usualMode), figures(view), columns);
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
  // Four characters are about a token.
  const notes = written === 0 ? [] : [`~${inShort(Math.ceil(written / 4))} tokens`];
  return activityLine({ text, elapsedMs: Math.max(0, now - since), notes }, columns);
}

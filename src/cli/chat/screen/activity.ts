import { CYAN, DIM, type Line, span, lineWidth, fitLine } from '../../../terminal/index.ts';
import { duration } from '../../output/duration.ts';

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/** How often the activity line is redrawn while something runs. */
export const FRAME_MS = 120;

export interface Activity {
  readonly text: string;
  readonly elapsedMs: number;
  /** Additional figures, such as `~340 tokens`. */
  readonly notes: readonly string[];
}

/** One line with the current activity and its duration. */
export function activityLine({ text, elapsedMs, notes }: Activity, width: number): Line {
  const frame = FRAMES[Math.floor(elapsedMs / FRAME_MS) % FRAMES.length] ?? '';
  const figures = [duration(elapsedMs), ...notes].join(' · ');
  return fitLine([span(`${frame} `, CYAN), span(text), span(` ${figures}`, DIM)], width);
}

/** The last line: location on the left, context use on the right. The right side is shortened first. */
export function statusLine(left: string, right: string, width: number): Line {
  const start = fitLine([span(left, DIM)], width);
  const room = width - lineWidth(start) - 2;
  const end = [span(right, DIM)];
  if (right === '' || lineWidth(end) > room) return start;
  return [...start, span(' '.repeat(room - lineWidth(end) + 2)), ...end];
}

import type { Pace } from './script/answer.ts';
import type { Step } from './steps.ts';

/** Gathers deltas into writes and puts the pauses between them; what comes without deltas is written at once. */
export function* paced(steps: Iterable<Step>, pace: Pace | undefined): Generator<Step> {
  const batch = pace?.batch ?? 1;
  const delayMs = pace?.delayMs ?? 0;
  let held = '';
  let deltas = 0;
  for (const step of steps) {
    if (step.do === 'write') {
      held += step.text;
      if (step.isDelta) deltas += 1;
      if (deltas > 0 && deltas < batch) continue;
    }
    if (held !== '') yield { do: 'write', text: held, isDelta: deltas > 0 };
    if (step.do !== 'write') yield step;
    else if (deltas > 0 && delayMs > 0) yield { do: 'wait', ms: delayMs };
    held = '';
    deltas = 0;
  }
  if (held !== '') yield { do: 'write', text: held, isDelta: deltas > 0 };
}

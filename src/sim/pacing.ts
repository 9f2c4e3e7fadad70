import type { Pace } from './script/answer.ts';
import type { Step } from './steps.ts';

/** Combines deltas into writes and inserts the delays between them; frames without deltas are written at once. */
export function* applyPace(steps: Iterable<Step>, pace: Pace | undefined): Generator<Step> {
  const deltasPerWrite = pace?.batch ?? 1;
  const delayMs = pace?.delayMs ?? 0;
  let buffered: Uint8Array[] = [];
  let deltas = 0;
  for (const step of steps) {
    if (step.do === 'write') {
      buffered.push(step.bytes);
      if (step.isDelta) deltas += 1;
      if (deltas > 0 && deltas < deltasPerWrite) continue;
    }
    if (buffered.length > 0) yield { do: 'write', bytes: Buffer.concat(buffered), isDelta: deltas > 0 };
    if (step.do !== 'write') yield step;
    else if (deltas > 0 && delayMs > 0) yield { do: 'wait', ms: delayMs };
    buffered = [];
    deltas = 0;
  }
  if (buffered.length > 0) yield { do: 'write', bytes: Buffer.concat(buffered), isDelta: deltas > 0 };
}

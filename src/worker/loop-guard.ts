import { type Item, textOf } from '../llm/index.ts';

export interface LoopPolicy {
  /** So many identical calls with identical results in a row are enough. */
  readonly refuseAfter: number;
  /** So many refusals later the run is stopped. */
  readonly stopAfter: number;
}

export const DEFAULT_LOOP: LoopPolicy = { refuseAfter: 3, stopAfter: 3 };

export type LoopVerdict = 'go' | 'refuse' | 'stop';

/**
 * Whether a model goes round in circles: the same call with the same arguments and the same result again and again.
 * A call whose result changes (a status that is polled) is no circle. `items` begin after the latest prompt: a person
 * who asks for the same thing again wants it done again.
 */
export function loopVerdict(
  items: readonly Item[],
  call: { readonly name: string; readonly arguments: string },
  policy: LoopPolicy = DEFAULT_LOOP,
): LoopVerdict {
  let refusals = 0;
  let repeats = 0;
  let result: string | undefined;
  for (const earlier of latestCalls(items)) {
    if (earlier.name !== call.name || earlier.arguments !== call.arguments) break;
    if (earlier.result === REFUSAL) refusals++;
    else {
      result ??= earlier.result;
      if (earlier.result !== result) break;
      repeats++;
    }
  }
  if (repeats < policy.refuseAfter) return 'go';
  return refusals >= policy.stopAfter ? 'stop' : 'refuse';
}

export const REFUSAL =
  'Not run: this exact call has been made several times in a row with the same result. Do something else, or say why you cannot go on.';

interface AnsweredCall {
  readonly name: string;
  readonly arguments: string;
  readonly result: string;
}

/** Calls with their results, the latest first; lazily, since nearly always the first one is enough. */
function* latestCalls(items: readonly Item[]): Generator<AnsweredCall> {
  const results = new Map<string, string>();
  for (let at = items.length - 1; at >= 0; at--) {
    const item = items[at];
    if (item?.type === 'tool-result') results.set(item.callId, textOf(item.content));
    if (item?.type !== 'tool-call') continue;
    const result = results.get(item.callId);
    if (result !== undefined) yield { name: item.name, arguments: item.arguments, result };
  }
}

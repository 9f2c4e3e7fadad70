import { type Item, contentText } from '../llm/index.ts';

export interface LoopPolicy {
  /** After this many identical consecutive calls with identical results, further ones are refused. */
  readonly refuseAfter: number;
  /** After this many refusals, the run is stopped. */
  readonly stopAfter: number;
}

export const DEFAULT_LOOP: LoopPolicy = { refuseAfter: 3, stopAfter: 3 };

export type LoopVerdict = 'go' | 'refuse' | 'stop';

/**
 * Detects loops: the same call with the same arguments and the same result, repeatedly. A call whose result changes (a
 * polled status) is not a loop. `items` start after the latest prompt: a user who repeats a request wants it done again.
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
    if (earlier.result === LOOP_REFUSAL) refusals++;
    else {
      result ??= earlier.result;
      if (earlier.result !== result) break;
      repeats++;
    }
  }
  if (repeats < policy.refuseAfter) return 'go';
  return refusals >= policy.stopAfter ? 'stop' : 'refuse';
}

export const LOOP_REFUSAL =
  'Not run: this exact call has been made several times in a row with the same result. Do something else, or say why you cannot go on.';

interface AnsweredCall {
  readonly name: string;
  readonly arguments: string;
  readonly result: string;
}

/** Calls with their results, the latest first; lazy, because usually the first one is enough. */
function* latestCalls(items: readonly Item[]): Generator<AnsweredCall> {
  const results = new Map<string, string>();
  for (let at = items.length - 1; at >= 0; at--) {
    const item = items[at];
    if (item?.type === 'tool-result') results.set(item.callId, contentText(item.content));
    if (item?.type !== 'tool-call') continue;
    const result = results.get(item.callId);
    if (result !== undefined) yield { name: item.name, arguments: item.arguments, result };
  }
}

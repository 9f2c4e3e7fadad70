/** Flags (1) for removed old lines and added new lines; all other lines are unchanged, in order. */
export interface LineChanges {
  readonly removed: Uint8Array;
  readonly added: Uint8Array;
}

/**
 * Computes the shortest edit script between two lists of lines (Myers, "An O(ND) Difference Algorithm"). Texts
 * with more changes than the bound are compared by common start and end only: still correct, but longer.
 */
export function changedLines(
  old: readonly string[],
  now: readonly string[],
  bound = MAX_CHANGES,
): LineChanges {
  const changes = { removed: new Uint8Array(old.length), added: new Uint8Array(now.length) };
  const shortest = Math.min(old.length, now.length);
  let start = 0;
  while (start < shortest && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < shortest - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  const [oldMiddle, nowMiddle] = numberLines(
    old.slice(start, old.length - end),
    now.slice(start, now.length - end),
  );
  const trace = computeTrace(oldMiddle, nowMiddle, bound);
  if (trace === undefined) {
    changes.removed.fill(1, start, old.length - end);
    changes.added.fill(1, start, now.length - end);
  } else {
    markChanges(trace, oldMiddle.length, nowMiddle.length, {
      removed: changes.removed.subarray(start),
      added: changes.added.subarray(start),
    });
  }
  return changes;
}

/** Numbers equal lines equally, because numbers compare faster. */
function numberLines(old: readonly string[], now: readonly string[]): readonly [Int32Array, Int32Array] {
  const numbers = new Map<string, number>();
  const lineNumber = (line: string): number => {
    const number = numbers.get(line) ?? numbers.size;
    numbers.set(line, number);
    return number;
  };
  return [Int32Array.from(old, lineNumber), Int32Array.from(now, lineNumber)];
}

/**
 * How far each diagonal of the edit graph is reached with 0, 1, 2 … changes: entry `d` contains the diagonals
 * -d to d, of which only every second is used. Undefined if the bound was reached before the end.
 */
function computeTrace(old: Int32Array, now: Int32Array, bound: number): readonly Int32Array[] | undefined {
  const trace: Int32Array[] = [];
  for (let d = 0; d <= Math.min(bound, old.length + now.length); d += 1) {
    const last = trace.at(-1);
    const reached = new Int32Array(2 * d + 1);
    for (let k = -d; k <= d; k += 2) {
      let x = last === undefined ? 0 : stepFrom(last, d, k);
      while (x < old.length && x - k < now.length && old[x] === now[x - k]) x += 1;
      reached[k + d] = x;
      if (x >= old.length && x - k >= now.length) {
        trace.push(reached);
        return trace;
      }
    }
    trace.push(reached);
  }
  return undefined;
}

/**
 * Where diagonal `k` is entered by the d-th change: from above by an added line, or from the left by a removed
 * one.
 */
function stepFrom(last: Int32Array, d: number, k: number): number {
  return isAdded(last, d, k) ? at(last, d, k + 1) : at(last, d, k - 1) + 1;
}

function isAdded(last: Int32Array, d: number, k: number): boolean {
  return k === -d || (k !== d && at(last, d, k - 1) < at(last, d, k + 1));
}

/** Returns the value of a diagonal before the d-th change. */
function at(last: Int32Array, d: number, k: number): number {
  return last[k + d - 1] ?? 0;
}

/** Walks the trace back from the end and marks the change of each step. */
function markChanges(
  trace: readonly Int32Array[],
  oldLength: number,
  nowLength: number,
  marks: LineChanges,
): void {
  let [x, y] = [oldLength, nowLength];
  for (let d = trace.length - 1; d > 0; d -= 1) {
    const last = trace[d - 1] ?? new Int32Array();
    const k = x - y;
    if (isAdded(last, d, k)) {
      x = at(last, d, k + 1);
      y = x - (k + 1);
      marks.added[y] = 1;
    } else {
      x = at(last, d, k - 1);
      y = x - (k - 1);
      marks.removed[x] = 1;
    }
  }
}

/** Memory grows quadratically: 2,000 take 16 MB briefly. */
const MAX_CHANGES = 2_000;

/**
 * One line that a door sent or should have sent: its event of the log, and its content. The text of a delta is separate, because
 * some doors join adjacent deltas under the number of the last one.
 */
export interface Told {
  readonly seq: number;
  readonly what: string;
  readonly piece?: string;
}

/** A comparable text: the event's name and the fields that the log determines. */
export function told(seq: number, name: string, fields: Readonly<Record<string, unknown>> = {}): Told {
  return { seq, what: `${name} ${JSON.stringify(fields)}` };
}

export function toldPiece(seq: number, name: string, piece: string): Told {
  return { seq, what: name, piece };
}

/** Whether the client is still connected: then it must have received the end of the log. */
export interface Extent {
  readonly isComplete: boolean;
}

/** Describes the first difference between the expected and the received lines; undefined if there is none. */
export function difference(
  expected: readonly Told[],
  heard: readonly Told[],
  { isComplete }: Extent,
): string | undefined {
  let at = 0;
  for (const [index, one] of heard.entries()) {
    const next = matched(expected, at, one);
    if (next === undefined) return describe(expected, at, heard, index);
    at = next;
  }
  if (!isComplete || at === expected.length) return undefined;
  return `missing at the end: ${shown(expected.slice(at, at + 3))} (${expected.length - at} in all); last heard: ${shown(heard.slice(-2))}`;
}

/** Where the expected lines continue after this one; undefined if it is not the next one. */
function matched(expected: readonly Told[], from: number, one: Told): number | undefined {
  const first = expected[from];
  if (first === undefined || first.what !== one.what) return undefined;
  if (one.piece === undefined)
    return first.seq === one.seq && first.piece === undefined ? from + 1 : undefined;
  let joined = '';
  for (let at = from; at < expected.length; at += 1) {
    const next = expected[at];
    if (next?.piece === undefined || next.what !== one.what) return undefined;
    joined += next.piece;
    if (next.seq === one.seq) return joined === one.piece ? at + 1 : undefined;
    if (next.seq > one.seq) return undefined;
  }
  return undefined;
}

function describe(expected: readonly Told[], at: number, heard: readonly Told[], index: number): string {
  const one = heard[index];
  const isRepeated = one !== undefined && heard.slice(0, index).some((before) => same(before, one));
  const isLate = one !== undefined && expected.slice(at).some((after) => same(after, one));
  const kind = isRepeated
    ? 'told twice'
    : isLate
      ? 'something before it is missing'
      : 'not in the log like this';
  return (
    `line ${index + 1}, ${kind}: heard ${shown(heard.slice(Math.max(0, index - 2), index + 2))}, ` +
    `expected ${shown(expected.slice(Math.max(0, at - 2), at + 3))}`
  );
}

function same(one: Told, other: Told): boolean {
  return one.seq === other.seq && one.what === other.what && one.piece === other.piece;
}

function shown(list: readonly Told[]): string {
  return (
    list
      .map(
        ({ seq, what, piece }) => `[${seq} ${what}${piece === undefined ? '' : ` ${JSON.stringify(piece)}`}]`,
      )
      .join(' ')
      .slice(0, 1_500) || 'nothing'
  );
}

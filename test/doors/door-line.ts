/**
 * One line that a door sent or should have sent: its event of the log, and its content. The text of a delta is separate, because
 * some doors join adjacent deltas under the number of the last one.
 */
export interface DoorLine {
  readonly seq: number;
  readonly what: string;
  readonly delta?: string;
}

/** A comparable text: the event's name and the fields that the log determines. */
export function doorLine(
  seq: number,
  name: string,
  fields: Readonly<Record<string, unknown>> = {},
): DoorLine {
  return { seq, what: `${name} ${JSON.stringify(fields)}` };
}

export function deltaLine(seq: number, name: string, delta: string): DoorLine {
  return { seq, what: name, delta };
}

/** Whether the client is still connected: then it must have received the end of the log. */
export interface Extent {
  readonly isComplete: boolean;
}

/** Describes the first difference between the expected and the received lines; undefined if there is none. */
export function difference(
  expected: readonly DoorLine[],
  received: readonly DoorLine[],
  { isComplete }: Extent,
): string | undefined {
  let at = 0;
  for (const [index, one] of received.entries()) {
    const next = matched(expected, at, one);
    if (next === undefined) return describe(expected, at, received, index);
    at = next;
  }
  if (!isComplete || at === expected.length) return undefined;
  return `missing at the end: ${shown(expected.slice(at, at + 3))} (${expected.length - at} in all); last received: ${shown(received.slice(-2))}`;
}

/** Where the expected lines continue after this one; undefined if it is not the next one. */
function matched(expected: readonly DoorLine[], from: number, one: DoorLine): number | undefined {
  const first = expected[from];
  if (first === undefined || first.what !== one.what) return undefined;
  if (one.delta === undefined)
    return first.seq === one.seq && first.delta === undefined ? from + 1 : undefined;
  let joined = '';
  for (let at = from; at < expected.length; at += 1) {
    const next = expected[at];
    if (next?.delta === undefined || next.what !== one.what) return undefined;
    joined += next.delta;
    if (next.seq === one.seq) return joined === one.delta ? at + 1 : undefined;
    if (next.seq > one.seq) return undefined;
  }
  return undefined;
}

function describe(
  expected: readonly DoorLine[],
  at: number,
  received: readonly DoorLine[],
  index: number,
): string {
  const one = received[index];
  const isRepeated = one !== undefined && received.slice(0, index).some((before) => same(before, one));
  const isLate = one !== undefined && expected.slice(at).some((after) => same(after, one));
  const kind = isRepeated
    ? 'sent twice'
    : isLate
      ? 'something before it is missing'
      : 'not in the log like this';
  return (
    `line ${index + 1}, ${kind}: received ${shown(received.slice(Math.max(0, index - 2), index + 2))}, ` +
    `expected ${shown(expected.slice(Math.max(0, at - 2), at + 3))}`
  );
}

function same(one: DoorLine, other: DoorLine): boolean {
  return one.seq === other.seq && one.what === other.what && one.delta === other.delta;
}

function shown(list: readonly DoorLine[]): string {
  return (
    list
      .map(
        ({ seq, what, delta }) => `[${seq} ${what}${delta === undefined ? '' : ` ${JSON.stringify(delta)}`}]`,
      )
      .join(' ')
      .slice(0, 1_500) || 'nothing'
  );
}

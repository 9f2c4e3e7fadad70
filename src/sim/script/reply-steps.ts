import type { Reply, ReplyPart } from './reply.ts';

/** The motions of an answer as it is written: a part opens, grows, closes. Every wire spells out the same ones. */
export type Stroke =
  | { readonly type: 'open' | 'close'; readonly index: number; readonly part: ReplyPart }
  | { readonly type: 'delta'; readonly index: number; readonly part: ReplyPart; readonly text: string };

export function* strokes(reply: Reply): Generator<Stroke> {
  const parts = reply.parts.map((part, index) => ({ part, index }));
  for (let at = 0; at < parts.length; ) {
    const together = reply.interleave ? callsFrom(parts, at) : parts.slice(at, at + 1);
    yield* together.length > 1 ? sideBySide(together) : oneByOne(together);
    at += together.length;
  }
}

/** Cut into pieces of `size` characters, but never inside a surrogate pair. */
export function* pieces(text: string, size: number): Generator<string> {
  for (let from = 0; from < text.length; ) {
    let to = Math.min(text.length, from + size);
    if (isLowSurrogate(text.charCodeAt(to))) to += 1;
    yield text.slice(from, to);
    from = to;
  }
}

interface Placed {
  readonly part: ReplyPart;
  readonly index: number;
}

/** The run of tool calls that starts here; one part if this is no tool call. */
function callsFrom(parts: readonly Placed[], from: number): readonly Placed[] {
  let to = from;
  while (parts[to]?.part.type === 'call') to += 1;
  return parts.slice(from, Math.max(to, from + 1));
}

function* oneByOne(parts: readonly Placed[]): Generator<Stroke> {
  for (const { part, index } of parts) {
    yield { type: 'open', index, part };
    for (const text of growth(part)) yield { type: 'delta', index, part, text };
    yield { type: 'close', index, part };
  }
}

function* sideBySide(parts: readonly Placed[]): Generator<Stroke> {
  for (const { part, index } of parts) yield { type: 'open', index, part };
  let growing = parts.map(({ part, index }) => ({
    part,
    index,
    rest: growth(part),
  }));
  while (growing.length > 0) {
    const still: typeof growing = [];
    for (const one of growing) {
      const piece = one.rest.next();
      if (piece.done === true) continue;
      yield { type: 'delta', index: one.index, part: one.part, text: piece.value };
      still.push(one);
    }
    growing = still;
  }
  for (const { part, index } of parts) yield { type: 'close', index, part };
}

/** What is redacted does not grow: it is there at once. */
function growth(part: ReplyPart): Generator<string> {
  return pieces(part.type === 'redacted' ? '' : (part.text ?? ''), part.chunkSize);
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}

import type { Reply, ReplyPart } from './reply.ts';

/**
 * The steps in which an answer is streamed: a part opens, grows and closes. All provider APIs encode the same
 * steps.
 */
export type ReplyStep =
  | { readonly type: 'open' | 'close'; readonly index: number; readonly part: ReplyPart }
  | { readonly type: 'delta'; readonly index: number; readonly part: ReplyPart; readonly text: string };

export function* replySteps(reply: Reply): Generator<ReplyStep> {
  const parts = reply.parts.map((part, index) => ({ part, index }));
  for (let at = 0; at < parts.length; ) {
    const group = reply.interleave ? callsFrom(parts, at) : parts.slice(at, at + 1);
    yield* group.length > 1 ? interleaved(group) : sequential(group);
    at += group.length;
  }
}

/** Splits text into pieces of `size` characters, never inside a surrogate pair. */
export function* splitText(text: string, size: number): Generator<string> {
  for (let from = 0; from < text.length; ) {
    let to = Math.min(text.length, from + size);
    if (isLowSurrogate(text.charCodeAt(to))) to += 1;
    yield text.slice(from, to);
    from = to;
  }
}

interface IndexedPart {
  readonly part: ReplyPart;
  readonly index: number;
}

/** Returns the sequence of tool calls that starts here, or a single part if it is not a tool call. */
function callsFrom(parts: readonly IndexedPart[], from: number): readonly IndexedPart[] {
  let to = from;
  while (parts[to]?.part.type === 'call') to += 1;
  return parts.slice(from, Math.max(to, from + 1));
}

function* sequential(parts: readonly IndexedPart[]): Generator<ReplyStep> {
  for (const { part, index } of parts) {
    yield { type: 'open', index, part };
    for (const text of partDeltas(part)) yield { type: 'delta', index, part, text };
    yield { type: 'close', index, part };
  }
}

function* interleaved(parts: readonly IndexedPart[]): Generator<ReplyStep> {
  for (const { part, index } of parts) yield { type: 'open', index, part };
  let growing = parts.map(({ part, index }) => ({
    part,
    index,
    rest: partDeltas(part),
  }));
  while (growing.length > 0) {
    const unfinished: typeof growing = [];
    for (const one of growing) {
      const piece = one.rest.next();
      if (piece.done === true) continue;
      yield { type: 'delta', index: one.index, part: one.part, text: piece.value };
      unfinished.push(one);
    }
    growing = unfinished;
  }
  for (const { part, index } of parts) yield { type: 'close', index, part };
}

/** Redacted parts have no deltas: they are complete when they open. */
function partDeltas(part: ReplyPart): Generator<string> {
  return splitText(part.type === 'redacted' ? '' : (part.text ?? ''), part.chunkSize);
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}

import type { StructuredPatchHunk } from 'diff';

/** The difference of two texts. */
export interface Diff {
  /** In the unified format, as read by `patch` and `git apply`; empty if nothing differs. */
  readonly text: string;
  readonly added: number;
  readonly removed: number;
}

/**
 * Computes the shortest diff. Texts with more changes than the bound are compared by common start and end only:
 * still correct, but longer. `before` is undefined for a new file, `after` for a removed one.
 */
export async function createDiff(
  path: string,
  before: string | undefined,
  after: string | undefined,
  maxChanges = MAX_CHANGES,
): Promise<Diff> {
  // Loaded on demand: no other command needs it, and it takes 15 ms.
  const { structuredPatch } = await import('diff');
  const options = { context: CONTEXT, maxEditLength: maxChanges };
  const patch = structuredPatch('', '', before ?? '', after ?? '', undefined, undefined, options);
  const hunks = patch?.hunks ?? [wholeReplacement(splitLines(before ?? ''), splitLines(after ?? ''))];
  const lines = hunks.flatMap((hunk) => hunk.lines);
  const from = before === undefined ? '/dev/null' : `a/${path}`;
  const to = after === undefined ? '/dev/null' : `b/${path}`;
  return {
    text: hunks.length === 0 ? '' : [`--- ${from}\n+++ ${to}\n`, ...hunks.map(hunkText)].join(''),
    added: lines.filter((line) => line.startsWith('+')).length,
    removed: lines.filter((line) => line.startsWith('-')).length,
  };
}

/** Splits a text into lines with their line breaks, so that a last line without one differs. */
export function splitLines(text: string): readonly string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** Replaces everything between the common start and the common end. */
function wholeReplacement(old: readonly string[], now: readonly string[]): StructuredPatchHunk {
  const shortest = Math.min(old.length, now.length);
  let start = 0;
  while (start < shortest && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < shortest - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  const [oldEnd, nowEnd] = [old.length - end, now.length - end];
  const before = Math.min(CONTEXT, start);
  const after = Math.min(CONTEXT, end);
  const lines = [
    ...old.slice(start - before, start).map((line) => ` ${line}`),
    ...old.slice(start, oldEnd).map((line) => `-${line}`),
    ...now.slice(start, nowEnd).map((line) => `+${line}`),
    ...old.slice(oldEnd, oldEnd + after).map((line) => ` ${line}`),
  ];
  return {
    oldStart: start - before + 1,
    oldLines: before + oldEnd - start + after,
    newStart: start - before + 1,
    newLines: before + nowEnd - start + after,
    lines: lines.flatMap((line) => (line.endsWith('\n') ? [line.slice(0, -1)] : [line, NO_LINE_BREAK])),
  };
}

function hunkText({ oldStart, oldLines, newStart, newLines, lines }: StructuredPatchHunk): string {
  const head = `@@ -${rangeText(oldStart, oldLines)} +${rangeText(newStart, newLines)} @@`;
  return `${[head, ...lines].join('\n')}\n`;
}

/** An empty range is given by the line before it. */
function rangeText(start: number, length: number): string {
  if (length === 0) return `${start - 1},0`;
  return length === 1 ? `${start}` : `${start},${length}`;
}

const CONTEXT = 3;
const NO_LINE_BREAK = '\\ No newline at end of file';
/** Time grows quadratically: 2,000 changes take half a second. */
const MAX_CHANGES = 2_000;

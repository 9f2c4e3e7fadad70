import { changedLines, type LineChanges } from './line-changes.ts';

/** The difference of two texts. */
export interface Diff {
  /** In the unified format, as read by `patch` and `git apply`; empty if nothing differs. */
  readonly text: string;
  readonly added: number;
  readonly removed: number;
}

/** `before` is undefined for a new file. */
export function createDiff(path: string, before: string | undefined, after: string): Diff {
  const [old, now] = [splitLines(before ?? ''), splitLines(after)];
  const changes = changedLines(old, now);
  const hunks = createHunks(changes).map((hunk) => hunkText(hunk, old, now, changes));
  const from = before === undefined ? '/dev/null' : `a/${path}`;
  const text = hunks.length === 0 ? '' : [`--- ${from}\n+++ b/${path}\n`, ...hunks].join('');
  return { text, added: sum(changes.added), removed: sum(changes.removed) };
}

/** Splits a text into lines with their line breaks, so that a last line without one differs. */
export function splitLines(text: string): readonly string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** A range of old lines and the lines that replace them; ends are exclusive. */
interface Hunk {
  readonly from: number;
  readonly to: number;
  readonly nowFrom: number;
  readonly nowTo: number;
}

/** Returns the changes with context lines; changes with touching context are merged. */
function createHunks(changes: LineChanges): readonly Hunk[] {
  const hunks: Hunk[] = [];
  for (const run of changedRuns(changes)) {
    const last = hunks.at(-1);
    const close = last !== undefined && run.from - last.to <= 2 * CONTEXT;
    if (close) hunks[hunks.length - 1] = { ...last, to: run.to, nowTo: run.nowTo };
    else hunks.push(run);
  }
  const [lines, nowLines] = [changes.removed.length, changes.added.length];
  return hunks.map(({ from, to, nowFrom, nowTo }) => {
    const before = Math.min(CONTEXT, from);
    const after = Math.min(CONTEXT, lines - to, nowLines - nowTo);
    return { from: from - before, to: to + after, nowFrom: nowFrom - before, nowTo: nowTo + after };
  });
}

/** Returns consecutive changed lines, without context. */
function changedRuns({ removed, added }: LineChanges): readonly Hunk[] {
  const runs: Hunk[] = [];
  let [old, now] = [0, 0];
  while (old < removed.length || now < added.length) {
    const [from, nowFrom] = [old, now];
    while (removed[old] === 1) old += 1;
    while (added[now] === 1) now += 1;
    if (old > from || now > nowFrom) runs.push({ from, to: old, nowFrom, nowTo: now });
    else [old, now] = [old + 1, now + 1];
  }
  return runs;
}

function hunkText(
  hunk: Hunk,
  oldLines: readonly string[],
  nowLines: readonly string[],
  { removed, added }: LineChanges,
): string {
  const head = `@@ -${rangeText(hunk.from, hunk.to)} +${rangeText(hunk.nowFrom, hunk.nowTo)} @@\n`;
  const parts = [head];
  let [old, now] = [hunk.from, hunk.nowFrom];
  while (old < hunk.to || now < hunk.nowTo) {
    if (removed[old] === 1) {
      parts.push(lineText('-', oldLines[old]));
      old += 1;
    } else if (added[now] === 1) {
      parts.push(lineText('+', nowLines[now]));
      now += 1;
    } else {
      parts.push(lineText(' ', oldLines[old]));
      [old, now] = [old + 1, now + 1];
    }
  }
  return parts.join('');
}

/** An empty range is given by the line before it. */
function rangeText(from: number, to: number): string {
  const length = to - from;
  if (length === 0) return `${from},0`;
  return length === 1 ? `${from + 1}` : `${from + 1},${length}`;
}

function lineText(sign: string, line = ''): string {
  return line.endsWith('\n') ? `${sign}${line}` : `${sign}${line}\n\\ No newline at end of file\n`;
}

function sum(flags: Uint8Array): number {
  return flags.reduce((total, flag) => total + flag, 0);
}

const CONTEXT = 3;

import type { Files } from '../../store/index.ts';
import { seqIn } from './record.ts';
import { hasText, isHeaderDamaged, lastTextIn, type Segment } from './segment.ts';

/** Sets aside trailing segments whose first line is damaged. Their events are not published again. */
export async function withoutDamaged(
  files: Files,
  found: readonly Segment[],
): Promise<{ readonly kept: readonly Segment[]; readonly isDamaged: boolean }> {
  const last = found.at(-1);
  if (last === undefined || !(await isHeaderDamaged(files, last))) return { kept: found, isDamaged: false };
  // Kept for inspection. A pod can do without its feed, so a damaged feed does not prevent it from opening.
  files.rename(last.path, `${last.path}.damaged`);
  const { kept } = await withoutDamaged(files, found.slice(0, -1));
  return { kept, isDamaged: true };
}

/** Returns the segments without trailing ones that a power cut left empty, and removes those files. */
export async function withoutLost(files: Files, found: readonly Segment[]): Promise<readonly Segment[]> {
  const last = found.at(-1);
  if (last === undefined) return found;
  if ((await lastTextIn(files, last)) !== undefined || (await hasText(files, last))) return found;
  files.unlink(last.path);
  return await withoutLost(files, found.slice(0, -1));
}

/**
 * Returns the segments that follow each other without a gap, and removes those before a gap. A power cut may remove the end of
 * one segment and leave the next one: a reader would miss the events in between without noticing.
 */
export async function withoutHoles(files: Files, found: readonly Segment[]): Promise<readonly Segment[]> {
  let start = found.length - 1;
  while (start > 0 && (await isFollowed(files, found[start - 1], found[start]))) start -= 1;
  // Oldest first, so that a crash in between leaves no other gap.
  for (const { path } of found.slice(0, Math.max(0, start))) files.unlink(path);
  return found.slice(Math.max(0, start));
}

/** A segment starts with the number after the last one of the previous segment. */
async function isFollowed(
  files: Files,
  segment: Segment | undefined,
  next: Segment | undefined,
): Promise<boolean> {
  if (segment === undefined || next === undefined) return false;
  const text = await lastTextIn(files, segment);
  return text !== undefined && seqIn(text) === next.firstSeq - 1;
}

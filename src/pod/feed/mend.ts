import type { Files } from '../../store/index.ts';
import { seqIn } from './record.ts';
import { hasText, isHeaderDamaged, lastTextIn, type Segment } from './segment.ts';

/** The segments from the last one on whose first line cannot be trusted are set aside: what they held is told to nobody. */
export async function withoutDamaged(
  files: Files,
  found: readonly Segment[],
): Promise<{ readonly kept: readonly Segment[]; readonly isDamaged: boolean }> {
  const last = found.at(-1);
  if (last === undefined || !(await isHeaderDamaged(files, last))) return { kept: found, isDamaged: false };
  // Kept beside the others for whoever wants to look: a feed can be done without, so it keeps no pod shut.
  files.rename(last.path, `${last.path}.damaged`);
  const { kept } = await withoutDamaged(files, found.slice(0, -1));
  return { kept, isDamaged: true };
}

/** The segments without the last ones of which a power cut left nothing; those files are removed. */
export async function withoutLost(files: Files, found: readonly Segment[]): Promise<readonly Segment[]> {
  const last = found.at(-1);
  if (last === undefined) return found;
  if ((await lastTextIn(files, last)) !== undefined || (await hasText(files, last))) return found;
  files.unlink(last.path);
  return await withoutLost(files, found.slice(0, -1));
}

/**
 * The segments that follow on each other without a hole; those before a hole are removed. A power cut may take the end of
 * one and leave the next: whoever read across would miss what was in between and not know.
 */
export async function withoutHoles(files: Files, found: readonly Segment[]): Promise<readonly Segment[]> {
  let start = found.length - 1;
  while (start > 0 && (await isFollowed(files, found[start - 1], found[start]))) start -= 1;
  // The oldest first, so that a crash in between leaves no other hole.
  for (const { path } of found.slice(0, Math.max(0, start))) files.unlink(path);
  return found.slice(Math.max(0, start));
}

/** A segment begins with the number after the last one of the segment before it. */
async function isFollowed(
  files: Files,
  segment: Segment | undefined,
  next: Segment | undefined,
): Promise<boolean> {
  if (segment === undefined || next === undefined) return false;
  const text = await lastTextIn(files, segment);
  return text !== undefined && seqIn(text) === next.firstSeq - 1;
}

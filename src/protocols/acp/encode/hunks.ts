/** The texts of one hunk of a unified diff, with its context. */
export interface Hunk {
  readonly before: string;
  readonly after: string;
}

/** Returns the hunks of a unified diff of one file. */
export function hunksOf(diff: string): readonly Hunk[] {
  const hunks: { before: string; after: string }[] = [];
  /** The sides that contain the previous line. */
  let last = '';
  for (const line of diff.split('\n')) {
    const [sign = ''] = line;
    const hunk = hunks.at(-1);
    if (line.startsWith('@@')) hunks.push({ before: '', after: '' });
    else if (hunk === undefined) continue;
    else if (sign === '\\') {
      // The previous line has no line break at its end.
      if (last !== '+') hunk.before = hunk.before.slice(0, -1);
      if (last !== '-') hunk.after = hunk.after.slice(0, -1);
    } else {
      if (sign === '-' || sign === ' ') hunk.before += `${line.slice(1)}\n`;
      if (sign === '+' || sign === ' ') hunk.after += `${line.slice(1)}\n`;
    }
    last = sign;
  }
  return hunks;
}

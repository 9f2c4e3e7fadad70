/**
 * A pattern as people write it, for a whole text: `*` stays within a path segment, `**` does not, `?` is one character,
 * a backslash takes the next character as it is. `dir/**` is also `dir` itself.
 */
export function globExpression(glob: string, flags: 'u' | 'iu'): RegExp {
  return new RegExp(`^${sourceOf(glob)}$`, `s${flags}`);
}

/** One expression for all patterns, each at any depth: thousands of paths are matched against them. */
export function anyGlobExpression(globs: readonly string[]): RegExp {
  return new RegExp(`^(?:.*/)?(?:${globs.map(sourceOf).join('|')})$`, 'su');
}

function sourceOf(glob: string): string {
  const parts = [...glob.matchAll(/\/\*\*$|\*\*\/|\*+|\?|\\?[\s\S]/gu)];
  return parts.map(([part]) => translate(part)).join('');
}

function translate(part: string): string {
  if (part === '/**') return '(?:/.*)?';
  if (part === '**/') return '(?:.*/)?';
  if (part === '*') return '[^/]*';
  if (/^\*+$/.test(part)) return '.*';
  if (part === '?') return '[^/]';
  return escapeExpression(part.length > 1 && part.startsWith('\\') ? part.slice(1) : part);
}

export function escapeExpression(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/gu, (char) => `\\${char}`);
}

/** The pattern that only this text matches. */
export function literalGlob(text: string): string {
  return text.replace(/[\\*?]/g, (char) => `\\${char}`);
}

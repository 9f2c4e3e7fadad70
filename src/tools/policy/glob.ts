/**
 * Compiles a glob for a whole text: `*` matches within a path segment, `**` across segments, `?` one character;
 * a backslash escapes the next character. `dir/**` also matches `dir` itself.
 */
export function globExpression(glob: string, flags: 'u' | 'iu'): RegExp {
  return new RegExp(`^${globSource(glob)}$`, `s${flags}`);
}

/** Compiles one expression for all globs, each at any depth: thousands of paths are matched against it. */
export function anyGlobExpression(globs: readonly string[]): RegExp {
  return new RegExp(`^(?:.*/)?(?:${globs.map(globSource).join('|')})$`, 'su');
}

function globSource(glob: string): string {
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

/** Returns the glob that matches only this text. */
export function literalGlob(text: string): string {
  return text.replace(/[\\*?]/g, (char) => `\\${char}`);
}

/**
 * Whether a text is safe to print as a name in a list: it contains no control characters, which could break the line or move
 * the cursor, and no bidirectional overrides. Unicode line separators are allowed, since terminals do not break lines at them.
 */
export function isPrintableLine(text: string): boolean {
  return !/[\p{Cc}\u202A-\u202E\u2066-\u2069]/u.test(text);
}

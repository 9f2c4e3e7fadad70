/**
 * Whether a text may stand as a name in a list: no control character breaks the line or moves a cursor, and no override of
 * direction makes it read otherwise than it is. Unicode's own line separators break nothing on a terminal.
 */
export function isOneLine(text: string): boolean {
  return !/[\p{Cc}\u202A-\u202E\u2066-\u2069]/u.test(text);
}

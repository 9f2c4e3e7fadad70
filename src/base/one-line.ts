/** Whether a text may stand as a name in a list: nothing in it breaks the line, moves a cursor, or reads otherwise than it is. */
export function isOneLine(text: string): boolean {
  return !/[\p{Cc}\u2028-\u202E\u2066-\u2069]/u.test(text);
}

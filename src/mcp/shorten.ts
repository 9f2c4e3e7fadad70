/** Truncates to `length` characters, never inside one. */
export function truncate(text: string, length: number): string {
  return text.length <= length ? text : text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '');
}

/** Returns the text in one line, without control characters. */
export function oneLine(text: string, length: number): string {
  return truncate(text.replace(/[\p{Cc}\s]+/gu, ' ').trim(), length);
}

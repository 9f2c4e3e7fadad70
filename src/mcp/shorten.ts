/** So many characters at most, and no half of one. */
export function beginning(text: string, length: number): string {
  return text.length <= length ? text : text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '');
}

/** The text in one line, without what would move the cursor of whoever shows it. */
export function oneLine(text: string, length: number): string {
  return beginning(text.replace(/[\p{Cc}\s]+/gu, ' ').trim(), length);
}

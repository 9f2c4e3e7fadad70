/**
 * Indents lines so that CommonMark counts them as content of a list item. Models often indent the content of
 * `1. ` by two columns, but its content starts at the third.
 */
export function indentItems(source: string): string {
  if (!WIDE_MARKER.test(source)) return source;
  let item: ItemStart | undefined;
  /** The indentation of the first line that needs it; the lines below keep their position relative to it. */
  let first: number | undefined;
  let fence: string | undefined;
  let isAfterBlank = false;
  const lines = source.split('\n').map((line) => {
    const indent = indentation(line);
    const isBlank = indent === line.length;
    if (fence === undefined && !isBlank) {
      if (item !== undefined && indent >= item.indent + 2) {
        if (indent < item.contentIndent) first ??= indent;
      } else {
        const start = itemStart(line);
        if (start !== undefined || isAfterBlank || NOT_TEXT.test(line)) [item, first] = [start, undefined];
      }
    }
    isAfterBlank = isBlank;
    const [, mark] = FENCE.exec(line) ?? [];
    if (fence === undefined) fence = mark;
    else if (mark?.startsWith(fence)) fence = undefined;
    if (item === undefined || first === undefined || isBlank || indent < first) return line;
    return ' '.repeat(item.contentIndent - first) + line;
  });
  return lines.join('\n');
}

export interface ItemStart {
  readonly marker: string;
  readonly indent: number;
  /** The column at which the item's content starts. */
  readonly contentIndent: number;
}

/** Reads the marker of a list item. */
export function itemStart(line: string): ItemStart | undefined {
  const [, before = '', marker, space] = ITEM.exec(line) ?? [];
  if (marker === undefined) return undefined;
  // Text that starts far to the right is code in the item: only the first space belongs to the marker.
  const gap = space === undefined || space.length > 4 ? 1 : space.length;
  return { marker, indent: before.length, contentIndent: before.length + marker.length + gap };
}

export function indentation(line: string): number {
  return line.length - line.trimStart().length;
}

const WIDE_MARKER = /^ {0,3}(?:\d{1,9}[.)]|[-*+] ) /m;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(?:( +)(?=\S)|\s*$)/;
const FENCE = /^ *(`{3,}|~{3,})/;
const NOT_TEXT = /^ {0,3}(?:[#>]|```|~~~|[-*_]{3})/;

/**
 * Finds values in a JSON text as they are written there: a number of 20 digits does not survive being parsed. The text has
 * to be valid JSON.
 */

/** The text of the value under a key of an object; the last one counts, as it does for JSON.parse. */
export function fieldText(object: string, key: string): string | undefined {
  let found: string | undefined;
  for (let at = skipBlank(object, object.indexOf('{') + 1); object[at] === '"'; ) {
    const nameEnd = endOfString(object, at);
    const start = skipBlank(object, object.indexOf(':', nameEnd) + 1);
    const end = endOfValue(object, start);
    if (JSON.parse(object.slice(at, nameEnd)) === key) found = object.slice(start, end);
    at = nextPart(object, end);
  }
  return found;
}

/** The texts of the elements of a list. */
export function elementTexts(list: string): readonly string[] {
  const texts: string[] = [];
  for (let at = skipBlank(list, list.indexOf('[') + 1); at < list.length && list[at] !== ']'; ) {
    const end = endOfValue(list, at);
    texts.push(list.slice(at, end));
    at = nextPart(list, end);
  }
  return texts;
}

function nextPart(text: string, end: number): number {
  const at = skipBlank(text, end);
  return text[at] === ',' ? skipBlank(text, at + 1) : at;
}

function endOfValue(text: string, start: number): number {
  if (text[start] === '"') return endOfString(text, start);
  if (text[start] !== '{' && text[start] !== '[') return endOfWord(text, start);
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const char = text[at];
    if (char === '"') at = endOfString(text, at) - 1;
    else if (char === '{' || char === '[') depth += 1;
    else if (char === '}' || char === ']') depth -= 1;
    if (depth === 0) return at + 1;
  }
  return text.length;
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '"') return at + 1;
  }
  return text.length;
}

function endOfWord(text: string, start: number): number {
  let at = start;
  while (at < text.length && !',]} \t\r\n'.includes(text.charAt(at))) at += 1;
  return at;
}

function skipBlank(text: string, start: number): number {
  let at = start;
  while (at < text.length && ' \t\r\n'.includes(text.charAt(at))) at += 1;
  return at;
}

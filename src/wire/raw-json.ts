/**
 * Finds values in JSON text without parsing them: a number with 20 digits does not survive parsing. The text
 * must be valid JSON.
 */

/** Returns the text of an object's value by key; the last duplicate counts, as with JSON.parse. */
export function fieldText(object: string, key: string): string | undefined {
  let found: string | undefined;
  for (let index = skipBlank(object, object.indexOf('{') + 1); object[index] === '"'; ) {
    const nameEnd = endOfString(object, index);
    const start = skipBlank(object, object.indexOf(':', nameEnd) + 1);
    const end = endOfValue(object, start);
    if (JSON.parse(object.slice(index, nameEnd)) === key) found = object.slice(start, end);
    index = nextPart(object, end);
  }
  return found;
}

/** Returns the texts of an array's elements. */
export function elementTexts(list: string): readonly string[] {
  const texts: string[] = [];
  for (let index = skipBlank(list, list.indexOf('[') + 1); index < list.length && list[index] !== ']'; ) {
    const end = endOfValue(list, index);
    texts.push(list.slice(index, end));
    index = nextPart(list, end);
  }
  return texts;
}

function nextPart(text: string, end: number): number {
  const index = skipBlank(text, end);
  return text[index] === ',' ? skipBlank(text, index + 1) : index;
}

function endOfValue(text: string, start: number): number {
  if (text[start] === '"') return endOfString(text, start);
  if (text[start] !== '{' && text[start] !== '[') return endOfWord(text, start);
  let depth = 0;
  for (let index = start; index < text.length; index += 1) {
    const char = text[index];
    if (char === '"') index = endOfString(text, index) - 1;
    else if (char === '{' || char === '[') depth += 1;
    else if (char === '}' || char === ']') depth -= 1;
    if (depth === 0) return index + 1;
  }
  return text.length;
}

function endOfString(text: string, start: number): number {
  for (let index = start + 1; index < text.length; index += 1) {
    if (text[index] === '\\') index += 1;
    else if (text[index] === '"') return index + 1;
  }
  return text.length;
}

function endOfWord(text: string, start: number): number {
  let index = start;
  while (index < text.length && !',]} \t\r\n'.includes(text.charAt(index))) index += 1;
  return index;
}

function skipBlank(text: string, start: number): number {
  let index = start;
  while (index < text.length && ' \t\r\n'.includes(text.charAt(index))) index += 1;
  return index;
}

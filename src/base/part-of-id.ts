/** An end of an id has at least this many characters: fewer would match by accident. */
const SHORTEST_END = 4;

/**
 * Whether a word identifies an id: it is its beginning or its end. Ids begin with their time, so the ends of ids
 * that were created together differ.
 */
export function isPartOfId(id: string, word: string): boolean {
  const [whole, part] = [id.toLowerCase(), word.toLowerCase()];
  return part !== '' && (whole.startsWith(part) || (part.length >= SHORTEST_END && whole.endsWith(part)));
}

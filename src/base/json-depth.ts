/**
 * The nesting limit for JSON from a client, a model or an MCP server. JSON.parse accepts any depth, but most code that
 * walks the value afterwards is recursive: JSON.stringify overflows the stack at about 3,000 levels.
 */
export const MESSAGE_DEPTH = 128;

/** The nesting limit for our own files and for provider frames, which wrap such messages in a few more levels. */
export const MAX_DEPTH = 512;

/**
 * Whether a JSON text is nested deeper than the limit. Texts of at most twice the limit are not scanned; texts with few
 * brackets cost little more than a search for them. The result is undefined for a text that is not JSON.
 */
export function isDeeperThan(limit: number, text: string): boolean {
  // Each level needs a bracket at both ends.
  if (text.length <= 2 * limit || !hasMoreThan(limit, text)) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) {
      at = endOfString(text, at);
      if (at < 0) return false;
    } else if (char === OPEN_BRACE || char === OPEN_BRACKET) {
      depth += 1;
      if (depth > limit) return true;
    } else if (char === CLOSE_BRACE || char === CLOSE_BRACKET) depth -= 1;
  }
  return false;
}

/** Whether a value in memory is nested deeper than the limit. A cyclic value is deeper than any limit. */
export function isValueDeeperThan(limit: number, value: unknown): boolean {
  let level = new Set([value].filter(isContainer));
  for (let depth = 1; level.size > 0; depth += 1) {
    if (depth > limit) return true;
    const next = new Set<object>();
    for (const container of level)
      for (const part of Object.values(container)) if (isContainer(part)) next.add(part);
    level = next;
  }
  return false;
}

/**
 * Replaces every value below the depth limit with a message. The result is valid JSON, nested one level deeper than
 * the limit, so that a check against a lower limit still fails.
 */
export function truncateBelow(limit: number, text: string): string {
  if (!isDeeperThan(limit, text)) return text;
  const parts: string[] = [];
  let depth = 0;
  let copiedTo = 0;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) {
      const end = endOfString(text, at);
      if (end < 0) break;
      at = end;
    } else if (char === OPEN_BRACE || char === OPEN_BRACKET) {
      if (depth === limit)
        parts.push(text.slice(copiedTo, at), JSON.stringify(`nested deeper than ${limit} levels`));
      depth += 1;
    } else if (char === CLOSE_BRACE || char === CLOSE_BRACKET) {
      depth -= 1;
      if (depth === limit) copiedTo = at + 1;
    }
  }
  return [...parts, text.slice(copiedTo)].join('');
}

/** Whether the text has more than `limit` opening brackets, including those in strings. Uses indexOf because it is fast. */
function hasMoreThan(limit: number, text: string): boolean {
  let count = 0;
  for (const bracket of ['{', '['])
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) {
      count += 1;
      if (count > limit) return true;
    }
  return false;
}

/** The index of the closing quote of the string that starts at `start`, or -1. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let slashes = at - 1;
    while (text.charCodeAt(slashes) === BACKSLASH) slashes -= 1;
    if ((at - slashes) % 2 === 1) return at;
  }
  return -1;
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

const QUOTE = 34;
const OPEN_BRACKET = 91;
const BACKSLASH = 92;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

import type { JsonObject } from '../../../base/index.ts';

/** Deeper values of an incomplete text are omitted, so that no text can overflow the stack. */
const MOST_DEPTH = 128;

/**
 * Parses the object that an incomplete JSON text contains so far: strings up to their last character, without a number, literal or key that
 * may still grow. Never throws; returns an empty object for a text that does not start an object.
 */
export function partialObject(text: string): JsonObject {
  const reader = new PartialReader(text);
  const value = reader.value(0);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

/** Parses as much as possible. `undefined` means not complete yet, or invalid. */
class PartialReader {
  readonly #text: string;
  #at = 0;
  /** Nothing more can be parsed: the text ended, or is invalid from here on. */
  #isOver = false;

  constructor(text: string) {
    this.#text = text;
  }

  value(depth: number): unknown {
    switch (this.#next()) {
      case '{':
        return this.#object(depth);
      case '[':
        return this.#array(depth);
      case '"':
        return this.#string().text;
      default:
        return this.#scalar();
    }
  }

  #object(depth: number): unknown {
    if (depth >= MOST_DEPTH) return this.#end();
    // `fromEntries` handles "__proto__" like any other key.
    const entries: [string, unknown][] = [];
    this.#at += 1;
    while (!this.#isOver && this.#next() === '"') {
      const { text: key, isWhole } = this.#string();
      if (!isWhole || this.#next() !== ':') break;
      this.#at += 1;
      const value = this.value(depth + 1);
      if (value !== undefined) entries.push([key, value]);
      if (this.#isOver || this.#next() !== ',') break;
      this.#at += 1;
    }
    this.#close('}');
    return Object.fromEntries(entries);
  }

  #array(depth: number): unknown {
    if (depth >= MOST_DEPTH) return this.#end();
    const values: unknown[] = [];
    this.#at += 1;
    while (!this.#isOver && this.#next() !== ']') {
      const value = this.value(depth + 1);
      if (value !== undefined) values.push(value);
      if (this.#isOver || this.#next() !== ',') break;
      this.#at += 1;
    }
    this.#close(']');
    return values;
  }

  #string(): { readonly text: string; readonly isWhole: boolean } {
    const from = this.#at;
    this.#at += 1;
    let isWhole = false;
    while (!isWhole && !this.#isOver) {
      SPECIAL.lastIndex = this.#at;
      const special = SPECIAL.exec(this.#text);
      this.#at = special?.index ?? this.#text.length;
      if (special?.[0] === '"') isWhole = true;
      else if (special?.[0] !== '\\' || !this.#skipEscape()) this.#end();
    }
    const written = this.#text.slice(from, this.#at);
    if (isWhole) this.#at += 1;
    // The first half of a surrogate pair is omitted until the second half arrives.
    const whole = isWhole ? written : written.replace(HALF_PAIR, '');
    return { text: String(JSON.parse(`${whole}"`)), isWhole };
  }

  /** False for an escape that is incomplete or invalid. */
  #skipEscape(): boolean {
    ESCAPE.lastIndex = this.#at;
    const [written = ''] = ESCAPE.exec(this.#text) ?? [];
    this.#at += written.length;
    return written !== '';
  }

  /** A number or literal is complete once another character follows it. */
  #scalar(): unknown {
    SCALAR.lastIndex = this.#at;
    const [written = ''] = SCALAR.exec(this.#text) ?? [];
    this.#at += written.length;
    if (written === '' || this.#at >= this.#text.length) return this.#end();
    try {
      return JSON.parse(written) as unknown;
    } catch {
      return this.#end();
    }
  }

  #next(): string | undefined {
    SPACE.lastIndex = this.#at;
    this.#at += SPACE.exec(this.#text)?.[0].length ?? 0;
    return this.#text[this.#at];
  }

  #close(sign: string): void {
    if (!this.#isOver && this.#next() === sign) this.#at += 1;
    else this.#end();
  }

  #end(): undefined {
    this.#isOver = true;
  }
}

/** The characters that end the plain part of a string. Control characters are not allowed in a string. */
// oxlint-disable-next-line no-control-regex
const SPECIAL = /["\\\u0000-\u001f]/g;
const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;
const HALF_PAIR = /(?:\\u[dD][89abAB][\da-fA-F]{2}|[\uD800-\uDBFF])$/;
const SCALAR = /[-+.\w]+/y;
const SPACE = /[ \t\r\n]*/y;

import { isObject, parseObject } from '../../../src/base/index.ts';
import { verifyLine } from '../../../src/store/index.ts';

/** A session file as lines of JSON. */
export class SessionText {
  readonly problems: readonly string[];
  readonly #entries: readonly Readonly<Record<string, unknown>>[];

  constructor(text: string) {
    const lines = text.trimEnd().split('\n');
    this.problems = lines.flatMap((line, at) =>
      verifyLine(Buffer.from(line)) === 'ok' ? [] : [`line ${at + 1} of the file is broken`],
    );
    this.#entries = lines.map((line) => parseObject(line) ?? {});
  }

  /** How often a user message has exactly this text. */
  countUserMessages(text: string): number {
    return this.#entries.filter(({ type, message }) => {
      if (type !== 'message' || !isObject(message) || message.role !== 'user') return false;
      const { content } = message;
      return (
        content === text ||
        (Array.isArray(content) && content.some((part) => isObject(part) && part.text === text))
      );
    }).length;
  }

  /** Whether exactly one fact of this kind matches. */
  has(kind: string, fields: Readonly<Record<string, unknown>>): boolean {
    const facts = this.#entries.filter(
      ({ customType, data }) =>
        customType === `polypod.${kind}` &&
        isObject(data) &&
        Object.entries(fields).every(([key, value]) => data[key] === value),
    );
    return facts.length === 1;
  }
}

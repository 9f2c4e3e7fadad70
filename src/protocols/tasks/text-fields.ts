import { shape } from '../../base/index.ts';

interface TextRule {
  /** What the text must be, as errors say it. */
  readonly must: string;
  /** As JSON Schema has it: without flags, and the text need not be all of it. */
  readonly pattern?: string;
  /** In characters, as JSON Schema counts them. */
  readonly longest?: number;
}

/** Text of a client's. The OpenAPI document is made of the same rules that are enforced. */
export function wireText({ must, pattern = NOT_BLANK, longest }: TextRule): shape.Shape<string> {
  const expected = new RegExp(pattern, 'u');
  const isShort = (text: string): boolean =>
    longest === undefined || text.length <= longest || Array.from(text).length <= longest;
  return {
    schema: { type: 'string', pattern, ...(longest !== undefined && { maxLength: longest }) },
    read: shape.text(must, (text) => isShort(text) && expected.test(text)).read,
  };
}

/** Any text with something in it. */
const NOT_BLANK = '\\S';

export const filledText = wireText({ must: 'text' });

/** A whole number, as a number of JSON. */
export function wireCount(least: number): shape.Shape<number> {
  const { read } = shape.number(
    `a whole number from ${least} on`,
    (value) => Number.isSafeInteger(value) && value >= least,
  );
  return { schema: { type: 'integer', minimum: least, maximum: Number.MAX_SAFE_INTEGER }, read };
}

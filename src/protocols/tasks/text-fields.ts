import { shape, withoutUndefined } from '../../base/index.ts';

interface TextRule {
  /** The description of a valid text in error messages. */
  readonly must: string;
  /** A pattern of JSON Schema: without flags and not anchored. */
  readonly pattern?: string;
  /** In characters, as in JSON Schema. */
  readonly longest?: number;
}

/** A text field of a client. Validation and the OpenAPI document use the same rules. */
export function wireText({ must, pattern = NOT_BLANK, longest }: TextRule): shape.Shape<string> {
  const expected = new RegExp(pattern, 'u');
  const isShort = (text: string): boolean =>
    longest === undefined || text.length <= longest || Array.from(text).length <= longest;
  return {
    schema: { type: 'string', pattern, ...withoutUndefined({ maxLength: longest }) },
    read: shape.text(must, (text) => isShort(text) && expected.test(text)).read,
  };
}

/** Any text that is not empty. */
const NOT_BLANK = '\\S';

export const filledText = wireText({ must: 'text' });

/** An integer. */
export function wireCount(least: number): shape.Shape<number> {
  const { read } = shape.number(
    `a whole number from ${least} on`,
    (value) => Number.isSafeInteger(value) && value >= least,
  );
  return { schema: { type: 'integer', minimum: least, maximum: Number.MAX_SAFE_INTEGER }, read };
}

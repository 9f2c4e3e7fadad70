import { arrayOf, isObject, PolypodError, shape, stringOf, tryParse } from '../base/index.ts';

/** The daemon's reply to the header of a link. Everything after it belongs to the client. */
export type Greeting =
  | { readonly open: true; readonly notices: readonly string[] }
  | { readonly refused: string };

export function encodeGreeting(greeting: Greeting): string {
  return `${JSON.stringify(greeting)}\n`;
}

export function readGreeting(line: string): Greeting {
  const value = tryParse(line);
  if (isObject(value) && value.open === true)
    return { open: true, notices: arrayOf(value.notices).map(stringOf) };
  const reason = isObject(value) ? stringOf(value.refused) : '';
  return { refused: reason || 'unexpected response from the daemon: it may be another version. Restart it.' };
}

/** Validates the first line of a link, which contains the options of the program that relays. */
export function readHeader<T>(expected: shape.Shape<T>, line: string): T {
  const problems: shape.Problem[] = [];
  const header = expected.read(tryParse(line), [], (problem) => problems.push(problem));
  if (header !== undefined) return header;
  throw new PolypodError(
    'bad-request',
    `${shape.problemsMessage('the header of the link', problems)}: the daemon may be another version. Restart it.`,
  );
}

import {
  isObject,
  type JsonObject,
  type PolypodError,
  type ReadMessage,
  readMessage,
} from '../../base/index.ts';
import { httpRefusal } from './server-refusal.ts';

export interface BodyLimits {
  readonly bytes: number;
  /** Maximum nesting depth of arrays and objects. */
  readonly depth: number;
}

/** Parses the JSON object in a request body; rejects everything else. */
export function parseJsonBody(bytes: Buffer, { depth }: Pick<BodyLimits, 'depth'>): JsonObject {
  const read = readMessage(decodeUtf8(bytes), depth);
  if ('problem' in read) throw unreadableMessage('the body', read);
  if (isObject(read.value)) return read.value;
  throw httpRefusal(400, 'invalid_request', 'the body must be a JSON object');
}

/** Returns the error for a message that cannot be parsed. */
export function unreadableMessage(
  subject: string,
  { problem, reason }: Extract<ReadMessage, { readonly problem: string }>,
): PolypodError {
  return problem === 'too-deep'
    ? httpRefusal(400, 'too_deep', `${subject} is nested too deep: ${reason}`)
    : httpRefusal(400, 'malformed_json', `${subject} is not JSON: check its quotes, commas and brackets`);
}

function decodeUtf8(bytes: Buffer): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw httpRefusal(400, 'malformed_utf8', 'the body is not UTF-8');
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

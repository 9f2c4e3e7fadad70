import type { IncomingMessage } from 'node:http';
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

export const BODY_LIMITS: BodyLimits = { bytes: 1024 * 1024, depth: 32 };

/** Reads the JSON object in a request body; rejects everything else, before parsing where possible. */
export async function readJsonBody(
  request: IncomingMessage,
  limits: BodyLimits = BODY_LIMITS,
): Promise<JsonObject> {
  requireJsonType(request.headers['content-type']);
  const text = decodeUtf8(await readBytes(request, limits.bytes));
  const read = readMessage(text, limits.depth);
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

/**
 * Also prevents cross-site requests: pages of other origins can send forms and text without a preflight, but
 * not JSON.
 */
function requireJsonType(type: string | undefined): void {
  if (type !== undefined && /^application\/json\s*(?:;|$)/i.test(type)) return;
  throw httpRefusal(415, 'unsupported_media_type', 'the body must have the Content-Type application/json');
}

async function readBytes(request: IncomingMessage, limit: number): Promise<Buffer> {
  const tooLarge = (): Error =>
    // The rest of the body is not read, so the connection cannot be reused.
    httpRefusal(413, 'body_too_large', `the body is larger than ${limit} bytes`, {
      headers: { connection: 'close' },
    });
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge();
  const pieces: Buffer[] = [];
  let size = 0;
  await new Promise<void>((resolve, reject) => {
    request.on('data', (bytes: Buffer) => {
      size += bytes.length;
      if (size <= limit) pieces.push(bytes);
      else {
        request.pause();
        reject(tooLarge());
      }
    });
    request.on('end', resolve);
    request.on('close', () => {
      // Every request closes eventually, and creating an error is expensive.
      if (!request.readableEnded) reject(httpRefusal(400, 'incomplete_body', 'the body ended too early'));
    });
    request.on('error', () => reject(httpRefusal(400, 'incomplete_body', 'the body could not be read')));
  });
  return Buffer.concat(pieces);
}

function decodeUtf8(bytes: Buffer): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw httpRefusal(400, 'malformed_utf8', 'the body is not UTF-8');
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

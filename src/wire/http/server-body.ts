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
  /** How deep lists and objects may lie in each other. */
  readonly depth: number;
}

export const BODY_LIMITS: BodyLimits = { bytes: 1024 * 1024, depth: 32 };

/** The JSON object of a request's body; refuses everything else, before it is parsed where that is possible. */
export async function readJsonBody(
  request: IncomingMessage,
  limits: BodyLimits = BODY_LIMITS,
): Promise<JsonObject> {
  refuseOtherTypes(request.headers['content-type']);
  const text = decoded(await readBytes(request, limits.bytes));
  const read = readMessage(text, limits.depth);
  if ('problem' in read) throw messageRefusal('the body', read);
  if (isObject(read.value)) return read.value;
  throw httpRefusal(400, 'invalid_request', 'the body must be a JSON object');
}

/** How a client is told that what it sent cannot be read. */
export function messageRefusal(
  what: string,
  { problem, reason }: Extract<ReadMessage, { readonly problem: string }>,
): PolypodError {
  return problem === 'too-deep'
    ? httpRefusal(400, 'too_deep', `${what} is nested too deep: ${reason}`)
    : httpRefusal(400, 'malformed_json', `${what} is not JSON: check its quotes, commas and brackets`);
}

/** Also for safety: a page elsewhere may send forms and text to us without asking, but not JSON. */
function refuseOtherTypes(type: string | undefined): void {
  if (type !== undefined && /^application\/json\s*(?:;|$)/i.test(type)) return;
  throw httpRefusal(415, 'unsupported_media_type', 'the body must have the Content-Type application/json');
}

async function readBytes(request: IncomingMessage, limit: number): Promise<Buffer> {
  const tooLarge = (): Error =>
    // The rest of the body is not read, so the connection cannot be used again.
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
      // Every request is closed some time: an error costs more than the rest of it.
      if (!request.readableEnded) reject(httpRefusal(400, 'incomplete_body', 'the body ended too early'));
    });
    request.on('error', () => reject(httpRefusal(400, 'incomplete_body', 'the body could not be read')));
  });
  return Buffer.concat(pieces);
}

function decoded(bytes: Buffer): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw httpRefusal(400, 'malformed_utf8', 'the body is not UTF-8');
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

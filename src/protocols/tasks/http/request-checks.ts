import type { IncomingMessage } from 'node:http';
import type { Log, PolypodError } from '../../../base/index.ts';
import { redactor } from '../../../base/index.ts';
import {
  CHALLENGE_HEADER,
  computeProof,
  decodeChallenge,
  type GuardOptions,
  guardRequest,
  httpRefusal,
  isLoopback,
  PROOF_HEADER,
  refuseDuplicates,
} from '../../../wire/index.ts';
import { type Authenticator, offersKey, tooManyFailedAttempts } from './authenticator.ts';
import type { KeyRecord } from '../keys/key.ts';
import type { AddressLimits } from './address-limits.ts';
import type { RequestAudit } from './request-audit.ts';
import type { TasksContext } from './route.ts';

/** What every request and every WebSocket uses before and after its handler. */
export interface RequestContext {
  readonly guard: GuardOptions;
  readonly authenticator: Authenticator;
  readonly refusals: AddressLimits;
  /** The address of the client. */
  readonly remoteOf: (request: IncomingMessage) => string;
  /** Marks the connection as one with a valid key. Throws if that key has too many connections. */
  readonly trust: (request: IncomingMessage, keyId: string) => void;
  readonly context: TasksContext;
  readonly audit: RequestAudit | undefined;
  readonly log: Log;
  /** Reports an unexpected error that has ended a connection. */
  readonly caught: (thrown: unknown) => void;
}

/** Throws if the address of a client has sent too many requests without a valid key, unless this one has a valid key. */
export function refuseFailedAttempts(
  { refusals, authenticator }: RequestContext,
  remote: string,
  { headers }: IncomingMessage,
  ticket?: string,
): void {
  const wait = refusals.wait(remote);
  if (wait > 0 && authenticator.find(headers, ticket) === undefined) throw tooManyFailedAttempts(wait);
}

/** Checks what does not depend on the key. Returns the origin of the page that sent the request, if any. */
export function checkHeaders(
  { rawHeaders, headers }: IncomingMessage,
  { guard }: RequestContext,
): string | undefined {
  refuseDuplicates(rawHeaders);
  return guardRequest(headers, guard);
}

/** Authenticates a request, and marks its connection. */
export function authenticate(
  request: IncomingMessage,
  { authenticator, trust }: RequestContext,
  remote: string,
  ticket?: string,
): KeyRecord {
  const key = authenticator.enter(request.headers, remote, ticket);
  trust(request, key.id);
  return key;
}

/** Proves to a client that sends a challenge that this is the agent of its key. */
export function proofFor(
  { headers, socket }: IncomingMessage,
  { authenticator }: RequestContext,
): Readonly<Record<string, string>> | undefined {
  const text = headers[CHALLENGE_HEADER];
  const challenge = typeof text === 'string' ? decodeChallenge(text) : undefined;
  const hash = challenge && authenticator.hashOf(challenge.keyId);
  if (challenge === undefined || hash === undefined || socket.localPort === undefined) return undefined;
  return { [PROOF_HEADER]: computeProof(challenge, hash, socket.localPort) };
}

/** `GET /health` needs no key on this machine, and then returns only that the agent is up. */
export function isOpenHealth({ method, url, headers, socket }: IncomingMessage, remote: string): boolean {
  return (
    (url === '/health' || url?.startsWith('/health?') === true) &&
    (method === 'GET' || method === 'HEAD') &&
    !offersKey(headers) &&
    isLoopback(socket.remoteAddress ?? '') &&
    isLoopback(remote)
  );
}

/** Whether the rest of the body is too large to wait for. */
export function isBodyLeft({ complete, headers }: IncomingMessage): boolean {
  if (complete) return false;
  const isUnbounded = headers['transfer-encoding'] !== undefined || headers.expect !== undefined;
  return isUnbounded || Number(headers['content-length'] ?? 0) > LARGE_BODY;
}

const LARGE_BODY = 64 * 1024;

/** The request target is a complete URL or `*`, or contains characters that are invalid in a path. */
export function noPath(): PolypodError {
  return httpRefusal(400, 'malformed_request', 'the target of the request must be a path, such as /tasks');
}

/** The client's id for the request, if it sent one; any text. */
export function clientRequestId({ headers }: IncomingMessage): string | undefined {
  const id = headers['x-request-id'];
  return typeof id === 'string' ? id : undefined;
}

/** Redacts keys that a client put into a path by mistake. */
export const clean = redactor([]);

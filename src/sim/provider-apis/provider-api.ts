import type { JsonObject } from '../../base/index.ts';
import type { ProviderError } from '../script/fault.ts';
import type { Ids } from '../ids.ts';
import type { Reply } from '../script/reply.ts';
import type { SimRequest, ProviderApiName } from '../request.ts';

/** One provider API: parses requests and encodes responses and errors. All functions are pure. */
export interface ProviderApi {
  readonly name: ProviderApiName;
  readonly streamType: string;
  readonly keepAlive: string;
  /** Returns the bytes of a frame, for provider APIs whose frames are not text. */
  readonly encodeFrame?: (text: string) => Uint8Array;
  readonly read: (body: JsonObject, url: URL) => SimRequest;
  /** The key that the client sent, or ''. */
  readonly requestKey: (header: (name: string) => string, url: URL) => string;
  /** What is wrong with the signature of a request, for provider APIs that sign them; `keys` are the accepted ones, if not all are. */
  readonly signatureProblem?: (
    request: SignedRequest,
    keys: readonly string[] | undefined,
  ) => SignatureProblem | undefined;
  readonly newId: (ids: Ids) => string;
  /** The id for a call without a scripted id; undefined if the provider sends none. */
  readonly newCallId: (ids: Ids) => string | undefined;
  readonly frames: (reply: Reply, context: ResponseContext) => Iterable<Frame>;
  /** The complete response, for requests that do not stream. */
  readonly fullResponse: (reply: Reply, context: ResponseContext) => JsonObject;
  readonly errorResponse: (refusal: ProviderError, context: ErrorContext) => ErrorResponse;
  /** An error inside a stream, after `sent` frames. */
  readonly streamError: (context: ResponseContext, sent: number) => string;
  readonly models: (ids: readonly string[]) => JsonObject;
  /** Headers of every response of this provider. */
  readonly headers: (ids: Ids) => Readonly<Record<string, string>>;
}

export interface ResponseContext {
  /** The id of this response. */
  readonly id: string;
  readonly request: SimRequest;
  readonly ids: Ids;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** A request as it was received. */
export interface SignedRequest {
  readonly method: string;
  /** With the query, as sent. */
  readonly path: string;
  readonly header: (name: string) => string;
  readonly body: string;
}

export interface SignatureProblem {
  readonly error: 'no-key' | 'bad-key';
  readonly message: string;
}

/** One event; faults use the role to find their position in any provider API. */
export interface Frame {
  readonly role: 'delta' | 'finish' | 'other';
  readonly text: string;
}

export interface ErrorContext {
  readonly model: string;
  readonly key: string;
  readonly message: string;
  readonly retryAfterSeconds: number | undefined;
}

export interface ErrorResponse {
  readonly status: number;
  readonly body: JsonObject;
  readonly headers?: Readonly<Record<string, string>>;
}

import type { JsonObject } from '../../base/index.ts';
import type { Refusal } from '../script/fault.ts';
import type { Ids } from '../ids.ts';
import type { Reply } from '../script/reply.ts';
import type { SimRequest, WireName } from '../request.ts';

/** One provider's API: how it is asked, how it answers, how it refuses. All pure. */
export interface Wire {
  readonly name: WireName;
  readonly streamType: string;
  readonly keepAlive: string;
  readonly read: (body: JsonObject, url: URL) => SimRequest;
  /** The key that the client sent, '' for none. */
  readonly keyOf: (header: (name: string) => string, url: URL) => string;
  readonly newId: (ids: Ids) => string;
  /** The id of a call whose script names none; undefined where the provider sends none. */
  readonly newCallId: (ids: Ids) => string | undefined;
  readonly frames: (reply: Reply, context: Context) => Iterable<Frame>;
  /** The answer in one piece, for requests that do not stream. */
  readonly whole: (reply: Reply, context: Context) => JsonObject;
  readonly refuse: (refusal: Refusal, context: RefusalContext) => Refused;
  /** An error inside a stream that began well, after `sent` frames. */
  readonly breakOff: (context: Context, sent: number) => string;
  readonly models: (ids: readonly string[]) => JsonObject;
  /** Headers that every answer of this provider carries. */
  readonly headers: (ids: Ids) => Readonly<Record<string, string>>;
}

export interface Context {
  /** Of this one response. */
  readonly id: string;
  readonly request: SimRequest;
  readonly ids: Ids;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** Bytes of one event; the role lets a fault find its place without knowing the wire. */
export interface Frame {
  readonly role: 'delta' | 'finish' | 'other';
  readonly text: string;
}

export interface RefusalContext {
  readonly model: string;
  readonly key: string;
  readonly message: string;
  readonly retryAfterSeconds: number | undefined;
}

export interface Refused {
  readonly status: number;
  readonly body: JsonObject;
}

import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { Static, TObject, TSchema } from 'typebox';
import type { JsonObject } from '../../../base/index.ts';
import type { Approvals } from '../work/approvals.ts';
import type { KeyRecord, KeyPermission } from '../keys/key.ts';
import type { LiveStreams } from './live-streams.ts';
import type { OwnedSessions } from '../work/owned-sessions.ts';
import type { StreamTickets } from './stream-tickets.ts';
import type { RefusalCounts } from '../refusal-counts.ts';
import type { SCHEMAS, SchemaName } from './schemas.ts';
import type { TasksLimits, TasksSettings } from '../settings.ts';
import type { Tasks } from '../work/tasks.ts';

/** What the handlers of requests use. */
export interface TasksContext {
  readonly settings: TasksSettings;
  readonly limits: TasksLimits;
  readonly sessions: OwnedSessions;
  readonly tasks: Tasks;
  readonly approvals: Approvals;
  readonly streams: LiveStreams;
  readonly tickets: StreamTickets;
  readonly refused: RefusalCounts;
  /** The OpenAPI document. */
  readonly document: () => Promise<JsonObject>;
}

/** An authenticated and valid request. */
export interface RouteCall<Body = unknown, Query = unknown> {
  readonly key: KeyRecord;
  /** The value of the parameter in the path; empty if it has none. */
  readonly id: string;
  readonly query: Query;
  readonly headers: IncomingHttpHeaders;
  readonly body: Body;
  /** True for `HEAD`: only the headers of the response are sent. */
  readonly isHead: boolean;
  /** Takes over the response, for a stream, with the headers of every response. */
  readonly takeOver: () => { readonly response: ServerResponse; readonly head: ReplyHead };
}

/** Header names and values, alternating. */
export type ReplyHead = readonly string[];

export interface JsonReply {
  readonly json: object;
  /** The same object is returned again, and does not change: it is serialized once. */
  readonly isConstant?: boolean;
  readonly audit?: AuditNote;
}

/** The response; `sent` if the handler has taken it over. */
export type Reply =
  | JsonReply
  | { readonly text: string; readonly type: string }
  | { readonly sent: true }
  | { readonly nothing: true };

/** Additional fields for the audit log. */
export interface AuditNote {
  readonly target: string;
  readonly result?: string;
}

/** A response that is not JSON, and its description. */
export interface RawReply {
  readonly type: 'text/event-stream' | 'text/plain' | 'websocket';
  readonly about: string;
}

/** One endpoint. The server and the OpenAPI document are built from the table of routes. */
export interface Route {
  readonly method: 'GET' | 'POST';
  /** A name in braces matches one segment: `/tasks/{taskId}/status`. */
  readonly path: string;
  /** The operation id for generated clients. */
  readonly operationId: string;
  readonly summary: string;
  /** The permission that the key needs. */
  readonly scope: KeyPermission;
  readonly body?: SchemaName;
  readonly query?: TObject;
  readonly headers?: TObject;
  /** The schema of the response, or the media type of a response that is not JSON. */
  readonly reply: SchemaName | RawReply;
  /** Authentication other than a key in a header. */
  readonly alsoAllows?: 'this-machine' | 'tickets' | 'subprotocols';
  /** Errors in addition to those of every route. */
  readonly refusals?: readonly number[];
  readonly answer: (call: RouteCall, context: TasksContext) => Reply | Promise<Reply>;
}

type ValueOf<S> = S extends TSchema ? Static<S> : unknown;
type BodyOf<B> = B extends SchemaName ? ValueOf<(typeof SCHEMAS)[B]> : unknown;

/** Declares a route whose handler gets the types of its schemas: the server validates requests before it calls the handler. */
export function route<
  B extends SchemaName | undefined = undefined,
  Q extends TObject | undefined = undefined,
>(
  definition: Omit<Route, 'body' | 'query' | 'answer'> & {
    readonly body?: B;
    readonly query?: Q;
    readonly answer: (
      call: RouteCall<BodyOf<B>, ValueOf<Q>>,
      context: TasksContext,
    ) => Reply | Promise<Reply>;
  },
): Route {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the server validates with the same schemas
  return definition as Route;
}

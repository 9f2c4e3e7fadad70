import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { JsonObject } from '../../../base/index.ts';
import type { RouteAddress } from '../../../wire/index.ts';
import type { Approvals } from '../work/approvals.ts';
import type { KeyRecord, KeyPermission } from '../keys/key.ts';
import type { LiveStreams } from './live-streams.ts';
import type { OwnedSessions } from '../work/owned-sessions.ts';
import type { StreamTickets } from './stream-tickets.ts';
import type { RefusalCounts } from '../refusal-counts.ts';
import type { SchemaName } from './schemas.ts';
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
  readonly document: JsonObject;
}

/** An authenticated request. */
export interface RouteCall {
  readonly key: KeyRecord;
  readonly params: ReadonlyMap<string, string>;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** Empty if the route has no body. */
  readonly body: JsonObject;
  /** For streamed responses, with the headers of every response. */
  readonly response: ServerResponse;
  readonly head: ReplyHead;
  /** True for `HEAD`: only the headers of the response are sent. */
  readonly isHead: boolean;
}

/** Header names and values, alternating. */
export type ReplyHead = readonly string[];

/** The response; `sent` if it was already sent. */
export type Reply =
  | { readonly json: object; readonly status?: number; readonly audit?: AuditNote }
  | { readonly text: string; readonly type: string }
  | { readonly sent: true }
  | { readonly nothing: true };

/** Additional fields for the audit log. */
export interface AuditNote {
  readonly target: string;
  readonly result?: string;
}

/** A query parameter or header, with its validation rules. */
export interface Parameter {
  readonly about: string;
  readonly schema: JsonObject;
}

/** A response that is not JSON, and its description. */
export interface RawReply {
  readonly type: 'text/event-stream' | 'text/plain' | 'websocket';
  readonly about: string;
}

/** One endpoint. The OpenAPI document is generated from the table of routes. */
export interface Route extends RouteAddress {
  /** The operation id for generated clients. */
  readonly operationId: string;
  readonly summary: string;
  /** The permission that the key needs. */
  readonly scope: KeyPermission;
  readonly body?: SchemaName;
  readonly query?: Readonly<Record<string, Parameter>>;
  readonly headers?: Readonly<Record<string, Parameter>>;
  /** The schema of the response, or the media type of a response that is not JSON. */
  readonly reply: SchemaName | RawReply;
  /** Authentication other than a key in a header. */
  readonly alsoAllows?: 'this-machine' | 'tickets' | 'subprotocols';
  /** Errors in addition to those of every route. */
  readonly refusals?: readonly number[];
  readonly answer: (call: RouteCall, context: TasksContext) => Promise<Reply>;
}

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

/** What requests are answered with. */
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

/** A request that was let in. */
export interface Call {
  readonly key: KeyRecord;
  readonly params: ReadonlyMap<string, string>;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** Empty where the route has none. */
  readonly body: JsonObject;
  /** For answers that go on, with the headers that every answer has. */
  readonly response: ServerResponse;
  readonly head: ReplyHead;
  /** The headers of the answer are wanted, and nothing else. */
  readonly isHead: boolean;
}

/** Names of headers, each before its value. */
export type ReplyHead = readonly string[];

/** What is answered; `sent` when it is on its way already. */
export type Reply =
  | { readonly json: object; readonly status?: number; readonly audit?: AuditNote }
  | { readonly text: string; readonly type: string }
  | { readonly sent: true }
  | { readonly nothing: true };

/** What the audit log is told beside who asked for what. */
export interface AuditNote {
  readonly target: string;
  readonly result?: string;
}

/** A value in the query or in a header, with the rules that are enforced for it. */
export interface Parameter {
  readonly about: string;
  readonly schema: JsonObject;
}

/** An answer that is no JSON, and what it is. */
export interface RawReply {
  readonly type: 'text/event-stream' | 'text/plain' | 'websocket';
  readonly about: string;
}

/** One thing that can be asked for. The table of all of them is what the OpenAPI document is made of. */
export interface Route extends RouteAddress {
  /** What generated clients call it. */
  readonly operationId: string;
  readonly summary: string;
  /** What a key has to be for. */
  readonly scope: KeyPermission;
  readonly body?: SchemaName;
  readonly query?: Readonly<Record<string, Parameter>>;
  readonly headers?: Readonly<Record<string, Parameter>>;
  /** The schema of what is answered, or the type of something that is no JSON. */
  readonly reply: SchemaName | RawReply;
  /** Ways in beside a key in a header. */
  readonly alsoOpenTo?: 'this-machine' | 'tickets' | 'subprotocols';
  /** Refusals beside those of every route. */
  readonly refusals?: readonly number[];
  readonly answer: (call: Call, context: TasksContext) => Promise<Reply>;
}

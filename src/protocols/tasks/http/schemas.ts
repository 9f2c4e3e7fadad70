import type { TSchema } from 'typebox';
import {
  AgentStatus,
  ApprovalList,
  Decided,
  Decision,
  ErrorReply,
  Health,
  OpenApiDocument,
  Session,
  SessionList,
  StreamTicket,
  SubmitReply,
  SubmitRequest,
  TaskList,
  TaskStatus,
  TicketRequest,
  UsageReply,
} from '../wire.ts';

/** All request and response schemas, by their name in the OpenAPI document. */
export const SCHEMAS = {
  SubmitRequest,
  SubmitReply,
  TaskStatus,
  TaskList,
  Session,
  SessionList,
  ApprovalList,
  Decision,
  Decided,
  TicketRequest,
  StreamTicket,
  Usage: UsageReply,
  AgentStatus,
  Health,
  Document: OpenApiDocument,
  Error: ErrorReply,
} as const satisfies Readonly<Record<string, TSchema>>;

export type SchemaName = keyof typeof SCHEMAS;

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of a constant
export const SCHEMA_NAMES = Object.keys(SCHEMAS) as readonly SchemaName[];

/** What a body is, in error messages. */
export const BODY_NAMES: Partial<Readonly<Record<SchemaName, string>>> = {
  SubmitRequest: 'the task',
  Decision: 'the decision',
  TicketRequest: 'the request for a ticket',
};

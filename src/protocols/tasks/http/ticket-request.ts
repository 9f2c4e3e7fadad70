import { type JsonObject, shape } from '../../../base/index.ts';
import { readFields, wrongField } from '../errors.ts';
import type { TicketTarget } from './stream-tickets.ts';
import { ignoringUnknownKeys } from '../work/submit-request.ts';
import { filledText } from '../text-fields.ts';

const FIELDS = ignoringUnknownKeys(shape.fields({}, { taskId: filledText, sessionId: filledText }));

/** The body of `POST /stream_tickets`: a task or a session. */
export const TICKET_REQUEST = {
  ...FIELDS,
  schema: { ...FIELDS.schema, oneOf: [{ required: ['taskId'] }, { required: ['sessionId'] }] },
};

export const TASK_EVENTS = '/tasks/{taskId}/events';
export const SESSION_EVENTS = '/sessions/{sessionId}/events';

export function readTicketRequest(body: JsonObject): TicketTarget {
  const { taskId, sessionId } = readFields('the request for a ticket', FIELDS, body);
  if (taskId !== undefined && sessionId === undefined) return { path: TASK_EVENTS, id: taskId };
  if (sessionId !== undefined && taskId === undefined) return { path: SESSION_EVENTS, id: sessionId };
  throw wrongField('taskId', 'or sessionId is needed, and not both: a ticket opens one stream');
}

/** The URL of a stream, relative to the agent. */
export function streamAddress({ path, id }: TicketTarget): string {
  return path.replace(/\{\w+\}/, () => encodeURIComponent(id));
}

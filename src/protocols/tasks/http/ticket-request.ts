import type { TicketTarget } from './stream-tickets.ts';
import type { TicketRequest } from '../wire.ts';

export const TASK_EVENTS = '/tasks/{taskId}/events';
export const SESSION_EVENTS = '/sessions/{sessionId}/events';

/** The stream that a valid request for a ticket names. */
export function ticketTarget({ taskId, sessionId = '' }: TicketRequest): TicketTarget {
  return taskId === undefined ? { path: SESSION_EVENTS, id: sessionId } : { path: TASK_EVENTS, id: taskId };
}

/** The URL of a stream, relative to the agent. */
export function streamAddress({ path, id }: TicketTarget): string {
  return path.replace(/\{\w+\}/, () => encodeURIComponent(id));
}

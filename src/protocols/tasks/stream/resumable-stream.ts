import { withoutUndefined } from '../../../base/index.ts';
import { afterOf, type StreamCursor, type StreamEvent, withoutReceived } from './cursor.ts';
import type { TasksContext } from '../http/route.ts';
import type { ProjectedEvent } from '../settings.ts';
import type { EventSelection } from './task-events.ts';

/** The events of a session that a client receives. */
export interface StreamRequest {
  readonly podId: string;
  /** The client's position; undefined to start with a snapshot, unless `after` is given. */
  readonly from: StreamCursor | undefined;
  /** The number after which the events begin. */
  readonly after?: number;
  /** Selects the client's events; absent for all of them. */
  readonly select?: EventSelection;
}

/** A session's events, and the selection of each list for the client. Both are synchronous per list. */
export interface ResumableStream {
  readonly events: AsyncIterable<readonly ProjectedEvent[]>;
  /** The events for the client, which may be none, and whether they are the last. Clients with the same events get the same list. */
  readonly take: (events: readonly ProjectedEvent[]) => {
    readonly batch: readonly StreamEvent[];
    readonly isLast: boolean;
  };
}

/** Opens a client's stream. It ends with the session, the signal or the selection. */
export function openResumableStream(
  { settings: { host, project } }: TasksContext,
  { podId, from, after = from && afterOf(from), select = all }: StreamRequest,
  signal: AbortSignal,
): ResumableStream {
  return {
    events: project(host.pod(podId), { signal, ...withoutUndefined({ after }) }),
    take: (events) => {
      const { events: selected, isLast } = select(events);
      return { batch: from === undefined ? selected : withoutReceived(selected, from), isLast };
    },
  };
}

/** Why a session's events ended: a daemon that stops closes its sessions before its doors. */
export function whyClosed({ settings: { isDraining } }: TasksContext): string {
  return isDraining?.() === true ? 'the agent is stopping' : 'the session was closed';
}

const all: EventSelection = (events) => ({ events, isLast: false });

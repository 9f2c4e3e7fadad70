import { afterOf, type Cursor, type LineBatch, placed, unseen } from './cursor.ts';
import type { TasksContext } from '../http/route.ts';
import type { ProjectedEvent } from '../settings.ts';
import type { EventSelection } from './task-events.ts';

/** Which events of a session a client gets. */
export interface StreamRequest {
  readonly podId: string;
  /** What the client has seen; undefined to begin with a snapshot, unless `after` is given. */
  readonly from: Cursor | undefined;
  /** The number after which the events begin. */
  readonly after?: number;
  /** Selects the client's events; all of them if it is absent. */
  readonly select?: EventSelection;
}

/** A session's events, and what of each list the client gets. Both are synchronous per list: nothing waits in between. */
export interface ResumableStream {
  readonly events: AsyncIterable<readonly ProjectedEvent[]>;
  /** The lines for the client, which may be none, and whether they are the last. */
  readonly take: (events: readonly ProjectedEvent[]) => {
    readonly batch: LineBatch;
    readonly isLast: boolean;
  };
}

/** Opens a client's stream. It ends with the session or the signal, or where the selection says so. */
export function openResumableStream(
  { settings: { host, project } }: TasksContext,
  { podId, from, after = from && afterOf(from), select = all }: StreamRequest,
  signal: AbortSignal,
): ResumableStream {
  return {
    events: project(host.pod(podId), { signal, ...(after !== undefined && { after }) }),
    take: (events) => {
      const { events: selected, isLast } = select(events);
      const batch = placed(selected);
      return { batch: from === undefined ? batch : unseen(batch, from), isLast };
    },
  };
}

/** Why a session's events ended by themselves: a daemon that stops closes its sessions before its doors. */
export function whyClosed({ settings: { isDraining } }: TasksContext): string {
  return isDraining?.() === true ? 'the agent stops' : 'the session was closed';
}

const all: EventSelection = (events) => ({ events, isLast: false });

import { afterOf, type LineBatch, type Cursor, placed, unseen } from './cursor.ts';
import type { KeyRecord } from '../keys/key.ts';
import type { TasksContext } from '../http/route.ts';
import type { LinePick } from './task-lines.ts';
import type { StreamLine } from '../wire.ts';

/** Which lines of a session a client is told. */
export interface StreamRequest {
  readonly podId: string;
  /** What the client has seen; undefined to begin with a snapshot, if `after` says nothing else. */
  readonly from: Cursor | undefined;
  /** The number behind which the lines begin. */
  readonly after?: number;
  /** All of them if nothing is said. */
  readonly pick?: LinePick;
}

/** A session's lines as they are told, and what of each list the client gets. Nothing is between the two that would wait. */
export interface ResumableStream {
  readonly told: AsyncIterable<readonly StreamLine[]>;
  /** Which may be nothing, and may be the last. */
  readonly take: (lines: readonly StreamLine[]) => { readonly batch: LineBatch; readonly isLast: boolean };
}

/** What a client is told. Ends with the session or the signal, or where the pick says so. */
export function openResumableStream(
  { settings: { host, project } }: TasksContext,
  { owner: by }: KeyRecord,
  { podId, from, after = from && afterOf(from), pick = all }: StreamRequest,
  signal: AbortSignal,
): ResumableStream {
  return {
    told: project(host.pod(podId), { by, signal, ...(after !== undefined && { after }) }),
    take: (lines) => {
      const picked = pick(placed(lines));
      return from === undefined ? picked : { ...picked, batch: unseen(picked.batch, from) };
    },
  };
}

/** Why a session's lines ended by themselves: the sessions of a daemon that stops are closed before its doors. */
export function whyClosed({ settings: { isDraining } }: TasksContext): string {
  return isDraining?.() === true ? 'the agent stops' : 'the session was closed';
}

const all: LinePick = (batch) => ({ batch, isLast: false });

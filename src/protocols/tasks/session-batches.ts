import { afterOf, type Batch, type Cursor, placed, unseen } from './cursor.ts';
import type { KeyRecord } from './keys/key.ts';
import type { Desk } from './route.ts';
import type { LinePick } from './task-lines.ts';

/** Which lines of a session a client is told. */
export interface Passage {
  readonly podId: string;
  /** What the client has seen; undefined to begin with a snapshot, if `after` says nothing else. */
  readonly from: Cursor | undefined;
  /** The number behind which the lines begin. */
  readonly after?: number;
  /** All of them if nothing is said. */
  readonly pick?: LinePick;
}

/** A session's lines as they are told. Ends with the session or the signal, or where the pick says so. */
export async function* sessionBatches(
  { settings: { host, project } }: Desk,
  { owner: by }: KeyRecord,
  { podId, from, after = from && afterOf(from), pick = all }: Passage,
  signal: AbortSignal,
): AsyncGenerator<Batch> {
  for await (const lines of project(host.pod(podId), { by, signal, ...(after !== undefined && { after }) })) {
    const { batch, isLast } = pick(placed(lines));
    const fresh = from === undefined ? batch : unseen(batch, from);
    if (fresh.length > 0) yield fresh;
    if (isLast) return;
  }
}

const all: LinePick = (batch) => ({ batch, isLast: false });

import type { PodState } from '../../../pod/index.ts';
import { type WireLine, toExtended, toPlain } from './wire-lines.ts';
import type { WireStatus } from '../wire.ts';

export interface Stand {
  readonly podId: string;
  readonly name: string | undefined;
  readonly state: PodState;
}

/** What a pod is doing, for both kinds of clients. */
export function statusLines(stand: Stand): readonly WireLine[] {
  const status = wireStatus(stand);
  return [toPlain('status', status), toExtended('status', { ...status, detail: stand.state })];
}

/** One that waits for a decision is paused: the wire has no other word. One without a name goes by its id. */
export function wireStatus({ podId, name, state }: Stand): WireStatus {
  return { state: state === 'waiting' ? 'paused' : state, session_id: podId, pod_name: name ?? podId };
}

import type { PodState } from '../../../pod/index.ts';
import { type WireLine, toExtended, toPlain } from './wire-lines.ts';
import type { WireStatus } from '../wire.ts';

export interface StatusInput {
  readonly podId: string;
  readonly name: string | undefined;
  readonly state: PodState;
}

/** Encodes the status of a pod for both kinds of clients. */
export function statusLines(input: StatusInput): readonly WireLine[] {
  const status = wireStatus(input);
  return [toPlain('status', status), toExtended('status', { ...status, detail: input.state })];
}

/**
 * A pod that waits for a decision is reported as paused, because the protocol has no other status. A pod without a name is reported by its
 * id.
 */
export function wireStatus({ podId, name, state }: StatusInput): WireStatus {
  return { state: state === 'waiting' ? 'paused' : state, session_id: podId, pod_name: name ?? podId };
}

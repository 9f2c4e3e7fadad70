import type { Origin, PodEvent } from '../../pod/index.ts';

/** The name of the decider if no person could be asked: the local user did not decide. */
export const HEADLESS_RUN = 'a run without a person';
export const HEADLESS_CHAT = 'a chat without a person';

/** Whether an event shows that another client uses the pod and could decide its approvals. */
export function isFromAnotherClient(event: PodEvent, me: Origin): boolean {
  if (!('by' in event)) return false;
  const { by, door } = event;
  if (by === undefined || by === HEADLESS_RUN || by === HEADLESS_CHAT) return false;
  return by !== me.by || door !== me.door;
}

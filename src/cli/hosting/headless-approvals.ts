import type { Origin, PodEvent } from '../../pod/index.ts';

/** The name of the decider if no person could be asked: the local user did not decide. */
export const RUN_WITHOUT_PERSON = 'a run without a person';
export const CHAT_WITHOUT_PERSON = 'a chat without a person';

/** Whether an event shows that another client uses the pod and could decide its approvals. */
export function isFromAnotherClient(event: PodEvent, me: Origin): boolean {
  if (!('by' in event)) return false;
  const { by, door } = event;
  if (by === undefined || by === RUN_WITHOUT_PERSON || by === CHAT_WITHOUT_PERSON) return false;
  return by !== me.by || door !== me.door;
}

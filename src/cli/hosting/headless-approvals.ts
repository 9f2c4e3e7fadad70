import type { Origin, PodEvent } from '../../pod/index.ts';

/** Who has decided where nobody could be asked: not the person whose process it is, for they were not there. */
export const RUN_WITHOUT_PERSON = 'a run without a person';
export const CHAT_WITHOUT_PERSON = 'a chat without a person';

/** Whether an event tells of somebody else who is at the pod, and who could answer what it asks. */
export function isFromAnotherClient(event: PodEvent, me: Origin): boolean {
  if (!('by' in event)) return false;
  const { by, door } = event;
  if (by === undefined || by === RUN_WITHOUT_PERSON || by === CHAT_WITHOUT_PERSON) return false;
  return by !== me.by || door !== me.door;
}

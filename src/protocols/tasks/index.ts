/** The tasks protocol: work handed in over HTTP, followed by polling, server-sent events or WebSocket. */
import { PolypodError } from '../../base/index.ts';
import type { DoorContext, OpenDoor } from '../door.ts';

export { createKey, type NewKey, readKeys, revokeKey } from './keys/key-file.ts';
export { type KeyState, keyState } from './keys/key-state.ts';
export { readKeyUses } from './keys/key-uses.ts';
export { rotateKey } from './keys/rotate-key.ts';
export { watchFile as watchKeys } from './keys/watch-file.ts';
export {
  hashOf,
  type KeyLimits,
  type KeyRecord,
  REVOKED_TASKS,
  type KeyPermission,
  KEY_PERMISSIONS,
} from './keys/key.ts';
export type { GivenKey } from './keys/key-ring.ts';
export type { OpenTasks, Project, TasksLimits, TasksListener, TasksSettings } from './settings.ts';
export type { Webhook } from './webhooks/webhook.ts';
export type { StreamLine, SubmitReply, SubmitRequest, TaskStatusReply } from './wire.ts';

/** The door as a daemon opens it; loaded then. */
export async function openTasksDoor({
  host,
  version,
  log,
  caught,
  audit,
  vitals,
  tasks,
}: DoorContext): Promise<OpenDoor> {
  if (tasks === undefined)
    throw new PolypodError('internal', 'nobody has said where the tasks door is to be');
  const { startTasks } = await import('./http/listener.ts');
  return startTasks({
    ...tasks,
    host,
    version,
    log,
    audit,
    caught: (thrown) => caught?.(thrown, 'tasks'),
    ...(vitals && { vitals }),
  });
}

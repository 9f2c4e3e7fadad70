/** The tasks protocol: tasks submitted over HTTP, followed by polling, server-sent events or WebSocket. */
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
export type { EnvironmentKey } from './keys/key-ring.ts';
export type {
  OpenTasks,
  Project,
  TasksLimits,
  TasksListener,
  TasksSettings,
  Monitoring,
} from './settings.ts';
export type { Webhook } from './settings.ts';
export type { StreamLine, SubmitReply, SubmitRequest, TaskStatusReply } from './wire.ts';

/** The tasks protocol: work handed in over HTTP, followed by polling, server-sent events or WebSocket. */
import type { Door } from '../door.ts';
import type { TasksSettings } from './settings.ts';

export { startTasks } from './door.ts';
export { createKey, type NewKey, readKeys, revokeKey } from './keys/key-file.ts';
export { type KeyLimits, type KeyRecord, type Scope, SCOPES } from './keys/key.ts';
export type { GivenKey } from './keys/key-ring.ts';
export type { OpenTasks, Project, TasksLimits, TasksSettings } from './settings.ts';
export type { StreamLine, SubmitReply, SubmitRequest, TaskStatusReply } from './wire.ts';

/** What the door needs beyond what every door gets. */
export type TasksPlace = Omit<TasksSettings, 'host' | 'version' | 'log' | 'vitals'>;

/** The door as a daemon opens it; loaded then. */
export function tasksDoor(place: TasksPlace): Door {
  return {
    name: 'tasks',
    open: async ({ host, version, log, vitals }) => {
      const { startTasks: start } = await import('./door.ts');
      return start({ ...place, host, version, log, ...(vitals && { vitals }) });
    },
  };
}

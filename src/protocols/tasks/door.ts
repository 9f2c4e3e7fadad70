import type { Door } from '../door.ts';
import type { TasksListener, Monitoring } from './settings.ts';

/** What the tasks door requires beyond the shared context. */
export interface TasksNeeds {
  /** The address, keys and limits of the door. */
  readonly tasks: TasksListener;
  readonly monitoring: Monitoring;
}

export const tasksDoor: Door<TasksNeeds, 'tasks'> = {
  name: 'tasks',
  needs: ['tasks', 'monitoring'],
  open: async ({ tasks, monitoring, host, version, log, audit, caught }) => {
    const { startTasks } = await import('./listener.ts');
    return startTasks({
      ...tasks,
      monitoring,
      host,
      version,
      log,
      audit,
      caught: (thrown) => caught?.(thrown, 'tasks'),
    });
  },
};

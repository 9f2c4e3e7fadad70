import type { Door } from '../door.ts';
import type { TasksListener, Vitals } from './settings.ts';

/** What the tasks door requires beyond the shared context. */
export interface TasksNeeds {
  /** The address, keys and limits of the door. */
  readonly tasks: TasksListener;
  readonly vitals: Vitals;
}

export const tasksDoor: Door<TasksNeeds, 'tasks'> = {
  name: 'tasks',
  needs: ['tasks', 'vitals'],
  open: async ({ tasks, vitals, host, version, log, audit, caught }) => {
    const { startTasks } = await import('./listener.ts');
    return startTasks({
      ...tasks,
      vitals,
      host,
      version,
      log,
      audit,
      caught: (thrown) => caught?.(thrown, 'tasks'),
    });
  },
};

import type { Host } from '../../pod/index.ts';

/**
 * Who was given which task. The agents of one process share its sessions, but not their work: what one has to do must not make
 * another look busy. A task from before the process began was given to nobody who is known, and counts for all of them.
 */
const GIVEN = new WeakMap<Host, Map<string, string>>();

/** A task is given to an agent; the first one keeps it, however often it is submitted. */
export function noteGiven(host: Host, taskId: string, agent: string): void {
  const given = GIVEN.get(host) ?? new Map<string, string>();
  GIVEN.set(host, given);
  if (given.has(taskId)) return;
  given.set(taskId, agent);
  const [oldest] = given.keys();
  if (given.size > MOST_NOTED && oldest !== undefined) given.delete(oldest);
}

export function isGivenToOther(host: Host, taskId: string, agent: string): boolean {
  const to = GIVEN.get(host)?.get(taskId);
  return to !== undefined && to !== agent;
}

const MOST_NOTED = 10_000;

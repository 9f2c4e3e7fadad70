import type { PodEventOf, Snapshot, TaskHistory } from '../../../pod/index.ts';
import type { ProjectedEvent } from '../settings.ts';
import { oncePer } from './once-per.ts';

/** Selects a client's events from those of a session, in order, and returns whether they are the last. */
export type EventSelection = (events: readonly ProjectedEvent[]) => {
  readonly events: readonly ProjectedEvent[];
  readonly isLast: boolean;
};

/**
 * Selects the events of one task: its queuing, and everything from the start of its run to its end. `after` is the number of the event
 * before the first one.
 */
export function taskEvents(taskId: string, history: TaskHistory, after: number): EventSelection {
  const task = new TaskEvents(taskId, history, after);
  return (events) => task.select(events);
}

class TaskEvents {
  readonly #taskId: string;
  readonly #lastSeq: number | undefined;
  readonly #runIds: Set<string>;
  #queueId: string | undefined;
  #isOpen: boolean;
  /** Its run was cut off by a kill: the next state shows whether it waits for a decision and then continues. */
  #isCutOff = false;
  #isOver = false;

  constructor(taskId: string, { queueId, runIds, runSeq, lastSeq }: TaskHistory, after: number) {
    this.#taskId = taskId;
    this.#lastSeq = lastSeq;
    this.#runIds = new Set(runIds);
    this.#queueId = queueId;
    this.#isOpen = runSeq !== undefined && runSeq <= after;
  }

  select(events: readonly ProjectedEvent[]): ReturnType<EventSelection> {
    // The common case of a running task: no work per client.
    if (this.#isOpen && !hasBoundary(events)) return { events, isLast: false };
    const selected: number[] = [];
    for (const [index, event] of events.entries()) {
      if (this.#isSelected(event)) selected.push(index);
      if (this.#isOver) break;
    }
    return { events: eventsAt(events, selected), isLast: this.#isOver };
  }

  #isSelected({ source }: ProjectedEvent): boolean {
    // Lines about the stream itself go to every client.
    if (source === undefined) return true;
    switch (source.type) {
      case 'snapshot':
        this.#restart(source.snapshot);
        return true;
      case 'queued':
        if (source.taskId !== this.#taskId) return this.#isOpen;
        this.#queueId = source.queueId;
        return true;
      case 'unqueued':
        if (this.#queueId === undefined || !source.queueIds.includes(this.#queueId)) return this.#isOpen;
        this.#isOver = true;
        return true;
      case 'run-start':
        if (source.taskId !== this.#taskId) return this.#isOpen;
        this.#runIds.add(source.runId);
        this.#isOpen = true;
        return true;
      case 'run-end':
        return this.#endRun(source);
      case 'state':
        return this.#isCutOff ? this.#continue(source) : this.#isOpen;
      default:
        return this.#isOpen;
    }
  }

  #restart({ seq, run }: Snapshot): void {
    if (this.#lastSeq !== undefined && seq >= this.#lastSeq) this.#isOver = true;
    else this.#isOpen = run !== undefined && this.#runIds.has(run.runId);
  }

  #endRun({ seq, runId, outcome: { status } }: PodEventOf<'run-end'>): boolean {
    const wasOpen = this.#isOpen;
    if (!this.#runIds.has(runId)) return wasOpen;
    this.#isOpen = false;
    const isLast = seq === this.#lastSeq;
    this.#isCutOff = status === 'interrupted' && !isLast;
    // A pause ends the run, not the task.
    this.#isOver = isLast || (status !== 'paused' && !this.#isCutOff);
    return wasOpen;
  }

  #continue({ state }: PodEventOf<'state'>): boolean {
    this.#isCutOff = false;
    this.#isOpen = state === 'waiting';
    this.#isOver = !this.#isOpen;
    return this.#isOpen;
  }
}

/** The events at these indexes. Clients with the same selection get the same list, so its lines are serialized once. */
function eventsAt(events: readonly ProjectedEvent[], indexes: readonly number[]): readonly ProjectedEvent[] {
  if (indexes.length === events.length) return events;
  const lists = partsOf(events);
  const key = indexes.join(' ');
  const known = lists.get(key);
  if (known !== undefined) return known;
  const part = indexes.flatMap((index) => events[index] ?? []);
  lists.set(key, part);
  return part;
}

const partsOf = oncePer((_: readonly ProjectedEvent[]) => new Map<string, readonly ProjectedEvent[]>());

/** Whether a task may begin or end in these events. */
const hasBoundary = oncePer((events: readonly ProjectedEvent[]): boolean =>
  events.some(({ source }) => source !== undefined && BOUNDARIES.has(source.type)),
);

const BOUNDARIES: ReadonlySet<string> = new Set(['queued', 'unqueued', 'run-start', 'run-end', 'snapshot']);

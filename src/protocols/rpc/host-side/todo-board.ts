import type { Snapshot } from '../../../pod/index.ts';
import { followed, itemsOf, openTasks, without } from './todos.ts';
import type { RpcEvent, RpcTodoPhase } from '../wire.ts';

export interface TodoBoardParts {
  readonly say: (event: RpcEvent) => void;
  /** Makes the agent's own list the same. */
  readonly store: (items: Snapshot['todos']) => Promise<void>;
  /** How long a task that is done stays on the list. */
  readonly clearAfterMs: number;
}

/** How often an agent that stops with open tasks is told so, for one prompt. */
const MOST_REMINDERS = 3;

/** The client's view of the agent's list: in phases, with ids; what is done leaves it after a while. */
export class TodoBoard {
  readonly #parts: TodoBoardParts;
  readonly #timers = new Map<string, NodeJS.Timeout>();
  #phases: readonly RpcTodoPhase[] = [];
  #reminders = 0;

  constructor(parts: TodoBoardParts) {
    this.#parts = parts;
  }

  get phases(): readonly RpcTodoPhase[] {
    return this.#phases;
  }

  async set(phases: readonly RpcTodoPhase[]): Promise<void> {
    // First, so that the agent's list is known when it is told.
    this.#phases = phases;
    await this.#parts.store(itemsOf(phases));
    this.#watchDone();
  }

  /** The agent, or somebody else, has changed the list. */
  follow(items: Snapshot['todos']): void {
    this.#phases = followed(this.#phases, items);
    this.#watchDone();
  }

  /** A person has said something: reminders begin anew. */
  prompted(): void {
    this.#reminders = 0;
  }

  /** What to tell an agent that has stopped; undefined when all is done, or it was told often enough. */
  reminder(): string | undefined {
    const open = openTasks(this.#phases);
    if (open.length === 0 || this.#reminders >= MOST_REMINDERS) return undefined;
    this.#reminders += 1;
    const todos = open.map(({ id, content, status }) => ({ id, content, status }));
    this.#parts.say({ type: 'todo_reminder', todos, attempt: this.#reminders, maxAttempts: MOST_REMINDERS });
    const lines = open.map(({ content }) => `- ${content}`).join('\n');
    return `You stopped with tasks that are not done:\n${lines}\n\nGo on with them, or mark them as completed if they are.`;
  }

  close(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    this.#phases = [];
  }

  #watchDone(): void {
    const done = this.#phases.flatMap(({ tasks }) =>
      tasks.filter(({ status }) => status === 'completed' || status === 'abandoned').map(({ id }) => id),
    );
    for (const [id, timer] of this.#timers) {
      if (done.includes(id)) continue;
      clearTimeout(timer);
      this.#timers.delete(id);
    }
    for (const id of done) {
      if (this.#timers.has(id)) continue;
      this.#timers.set(id, setTimeout(() => void this.#clear(id), this.#parts.clearAfterMs).unref());
    }
  }

  async #clear(id: string): Promise<void> {
    this.#timers.delete(id);
    await this.set(without(this.#phases, id));
    this.#parts.say({ type: 'todo_auto_clear' });
  }
}

import type { Snapshot } from '../../../pod/index.ts';
import { mergeTodos, itemsOf, without } from './todos.ts';
import type { RpcEvent, RpcTodoPhase } from '../wire.ts';

export interface TodoBoardParts {
  readonly send: (event: RpcEvent) => void;
  /** Updates the agent's own list. */
  readonly store: (items: Snapshot['todos']) => Promise<void>;
  /** How long a completed task stays on the list. */
  readonly clearAfterMs: number;
}

/** The client's view of the agent's list: with phases and ids. Completed tasks are removed after a delay. */
export class TodoBoard {
  readonly #parts: TodoBoardParts;
  readonly #timers = new Map<string, NodeJS.Timeout>();
  #phases: readonly RpcTodoPhase[] = [];

  constructor(parts: TodoBoardParts) {
    this.#parts = parts;
  }

  get phases(): readonly RpcTodoPhase[] {
    return this.#phases;
  }

  async set(phases: readonly RpcTodoPhase[]): Promise<void> {
    // Set first, so that the event of the agent's list is recognised.
    this.#phases = phases;
    await this.#parts.store(itemsOf(phases));
    this.#watchDone();
  }

  /** The agent, or another client, has changed the list. */
  follow(items: Snapshot['todos']): void {
    this.#phases = mergeTodos(this.#phases, items);
    this.#watchDone();
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
    this.#parts.send({ type: 'todo_auto_clear' });
  }
}

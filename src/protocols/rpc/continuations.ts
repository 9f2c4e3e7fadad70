import type { PodEvent } from '../../pod/index.ts';
import { injectionOf, StreamRules } from './stream-rules.ts';
import type { TodoBoard } from './host-side/todo-board.ts';
import type { RpcEvent, RpcRule } from './wire.ts';

type EventOf<T extends PodEvent['type']> = Extract<PodEvent, { readonly type: T }>;

export interface ContinuationsParts {
  readonly say: (event: RpcEvent) => void;
  readonly todos: TodoBoard;
  readonly rules: readonly RpcRule[];
  readonly cancel: () => void;
  /** Says something to the agent that no person wrote. */
  readonly prompt: (text: string, customType: string) => void;
}

/** Inputs that nobody typed; clients of xcsh are not shown the first. */
export const REMINDER = 'todo-reminder';
const INJECTION = 'ttsr-injection';

/** When an agent goes on by itself: an answer broke a rule, or tasks are left. */
export class Continuations {
  readonly #parts: ContinuationsParts;
  readonly #rules: StreamRules;
  #broken: readonly RpcRule[] = [];
  /** The last prompt came from here: only then its open tasks are ours to remember. */
  #isOurs = false;

  constructor(parts: ContinuationsParts) {
    this.#parts = parts;
    this.#rules = new StreamRules(parts.rules);
  }

  /** The client has begun a run. */
  prompted(): void {
    this.#isOurs = true;
    this.#parts.todos.prompted();
  }

  /** Another session: what was left of the last one is nobody's business here. */
  leave(): void {
    this.#isOurs = false;
    this.#broken = [];
  }

  /** Looks at what the model writes; an answer that breaks a rule is cut. */
  look(event: EventOf<'block-start'> | EventOf<'block-delta'>): void {
    if (event.type === 'block-start') return this.#rules.begin();
    const broken = this.#rules.look(event.delta.type === 'input-json' ? event.delta.json : event.delta.text);
    if (broken.length === 0) return;
    this.#broken = [...this.#broken, ...broken];
    this.#parts.say({ type: 'ttsr_triggered', rules: broken });
    this.#parts.cancel();
  }

  /** A run is over. Whether another one begins by itself. */
  goesOn({ status }: EventOf<'run-end'>['outcome']): boolean {
    const broken = this.#broken;
    this.#broken = [];
    if (broken.length > 0) {
      this.#parts.prompt(injectionOf(broken), INJECTION);
      return true;
    }
    const reminder = this.#isOurs && status === 'finished' ? this.#parts.todos.reminder() : undefined;
    if (reminder === undefined) {
      this.#isOurs = false;
      return false;
    }
    this.#parts.prompt(reminder, REMINDER);
    return true;
  }
}

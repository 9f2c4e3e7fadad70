import type { PodEventOf } from '../pod/index.ts';
import { brokenRulesText, type StreamRule, StreamRules } from './stream-rules.ts';
import { type OpenTodo, TODO_REMINDER, type TodoReminder, TodoReminders } from './todo-reminders.ts';

/** A prompt that continues the work of an agent. `customType` marks it in the session file. */
export interface Continuation {
  readonly text: string;
  readonly customType: string;
}

export interface ContinuationsParts {
  readonly rules: readonly StreamRule[];
  /** The todos that are not done. */
  readonly openTodos: () => readonly OpenTodo[];
  /** Cancels the run that is under way. */
  readonly cancel: () => void;
  /** Starts the next run. */
  readonly prompt: (continuation: Continuation) => void;
  readonly onRulesBroken: (rules: readonly StreamRule[]) => void;
  readonly onReminder: (reminder: TodoReminder) => void;
}

const BROKEN_RULE = 'ttsr-injection';

/** Decides when an agent continues without a person: its answer broke a rule, or it stopped with open todos. */
export class Continuations {
  readonly #parts: ContinuationsParts;
  readonly #rules: StreamRules;
  readonly #reminders = new TodoReminders();
  #broken: readonly StreamRule[] = [];
  /** Whether this client sent the last prompt: it does not remind of the todos of another client's prompt. */
  #isOwnPrompt = false;

  constructor(parts: ContinuationsParts) {
    this.#parts = parts;
    this.#rules = new StreamRules(parts.rules);
  }

  /** The client has started a run. */
  onPrompt(): void {
    this.#isOwnPrompt = true;
    this.#reminders.reset();
  }

  /** The client has left the session. */
  reset(): void {
    this.#isOwnPrompt = false;
    this.#broken = [];
  }

  /** Checks the model's output; cancels the run when the output breaks a rule. */
  check(event: PodEventOf<'block-start'> | PodEventOf<'block-delta'>): void {
    if (event.type === 'block-start') return this.#rules.startBlock();
    const { delta } = event;
    const broken = this.#rules.append(delta.type === 'input-json' ? delta.json : delta.text);
    if (broken.length === 0) return;
    this.#broken = [...this.#broken, ...broken];
    this.#parts.onRulesBroken(broken);
    this.#parts.cancel();
  }

  /** Starts another run if one is due. Returns whether it did. */
  onRunEnd({ status }: PodEventOf<'run-end'>['outcome']): boolean {
    const broken = this.#broken;
    this.#broken = [];
    if (broken.length > 0) {
      this.#parts.prompt({ text: brokenRulesText(broken), customType: BROKEN_RULE });
      return true;
    }
    const isDue = this.#isOwnPrompt && status === 'finished';
    const reminder = isDue ? this.#reminders.next(this.#parts.openTodos()) : undefined;
    if (reminder === undefined) {
      this.#isOwnPrompt = false;
      return false;
    }
    this.#parts.onReminder(reminder);
    this.#parts.prompt({ text: reminder.text, customType: TODO_REMINDER });
    return true;
  }
}

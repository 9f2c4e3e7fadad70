/** The custom type of a prompt that reminds an agent of its open todos. */
export const TODO_REMINDER = 'todo-reminder';

/** How many reminders an agent gets per prompt of a person. */
const MAX_REMINDERS = 3;

export interface OpenTodo {
  readonly id: string;
  readonly content: string;
  readonly status: 'pending' | 'in_progress';
}

export interface TodoReminder {
  readonly text: string;
  readonly todos: readonly OpenTodo[];
  /** Starts at 1. */
  readonly attempt: number;
  readonly maxAttempts: number;
}

/** Reminds an agent that stops with open todos, a limited number of times for each prompt. */
export class TodoReminders {
  #sent = 0;

  /** Resets the count, because a person has sent a prompt. */
  reset(): void {
    this.#sent = 0;
  }

  /** Returns the next reminder, or undefined if no todo is open or the limit is reached. */
  next(todos: readonly OpenTodo[]): TodoReminder | undefined {
    if (todos.length === 0 || this.#sent >= MAX_REMINDERS) return undefined;
    this.#sent += 1;
    const lines = todos.map(({ content }) => `- ${content}`).join('\n');
    return {
      text: `You stopped with tasks that are not done:\n${lines}\n\nGo on with them, or mark them as completed if they are.`,
      todos,
      attempt: this.#sent,
      maxAttempts: MAX_REMINDERS,
    };
  }
}

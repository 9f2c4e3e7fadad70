/** Prompts that no person wrote: the rule that an answer broke, and the todos that an agent left open. */
export { type Continuation, Continuations, type ContinuationsParts } from './continuations.ts';
export { type StreamRule } from './stream-rules.ts';
export { type OpenTodo, TODO_REMINDER, type TodoReminder } from './todo-reminders.ts';

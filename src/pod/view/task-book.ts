import { truncateText } from '../../base/index.ts';
import { type Content, contentText } from '../../llm/index.ts';
import type { RunOutcome } from '../../worker/index.ts';
import type { Queued, RunPurpose } from '../event.ts';

/** A task: a prompt with an id of the client. */
export interface TaskView {
  readonly runId?: string;
  readonly status: 'pending' | 'running' | RunOutcome['status'];
  /** The start of the prompt. */
  readonly prompt?: string;
  /** The agent that it was submitted to over HTTP. */
  readonly agent?: string;
  /** Whether one of its calls was denied. */
  readonly denied?: boolean;
}

/** The last tasks of a pod. */
export class TaskIndex {
  readonly #tasks = new Map<string, TaskView>();
  /** The tasks that changed since the last `takeChanged`. */
  #changed = new Set<string>();

  /** A prompt was queued. */
  queue({ taskId, content, overrides }: Pick<Queued, 'taskId' | 'content' | 'overrides'>): void {
    if (taskId === undefined) return;
    const prompt = this.#tasks.get(taskId)?.prompt ?? shortPrompt(content);
    this.set(taskId, { status: 'pending', prompt, ...agentIn(overrides) });
  }

  /** A run starts, or resumes after a pause. */
  begin({ taskId, runId, overrides }: RunPurpose & { readonly runId: string }): void {
    if (taskId !== undefined) this.set(taskId, { runId, status: 'running', ...agentIn(overrides) });
  }

  /** Records the prompt; the first one counts. */
  describe(taskId: string | undefined, content: readonly Content[]): void {
    const task = this.#tasks.get(taskId ?? '');
    if (taskId === undefined || task === undefined || task.prompt !== undefined) return;
    this.set(taskId, { prompt: shortPrompt(content), status: task.status });
  }

  deny(taskId: string | undefined): void {
    const task = this.#tasks.get(taskId ?? '');
    if (taskId !== undefined && task !== undefined) this.set(taskId, { status: task.status, denied: true });
  }

  /** Absent fields keep their values. */
  set(taskId: string, task: TaskView): void {
    this.#changed.add(taskId);
    this.#tasks.set(taskId, { ...this.#tasks.get(taskId), ...task });
    if (this.#tasks.size <= MOST_TASKS) return;
    const [oldest] = this.#tasks.keys();
    if (oldest !== undefined) this.#tasks.delete(oldest);
  }

  get(taskId: string): TaskView | undefined {
    return this.#tasks.get(taskId);
  }

  /** The ids of the tasks that changed since the last call, for the one reader that lists them. */
  takeChanged(): ReadonlySet<string> {
    const changed = this.#changed;
    if (changed.size > 0) this.#changed = new Set();
    return changed;
  }

  /** All ids, the oldest first. */
  ids(): Iterable<string> {
    return this.#tasks.keys();
  }

  all(): readonly (readonly [string, TaskView])[] {
    return [...this.#tasks];
  }
}

function agentIn(overrides: RunPurpose['overrides']): Pick<TaskView, 'agent'> {
  const agent = overrides?.submitter?.agent;
  return agent === undefined ? {} : { agent };
}

function shortPrompt(content: readonly Content[]): string {
  return truncateText(contentText(content), LONGEST_PROMPT);
}

export const MOST_TASKS = 100;
const LONGEST_PROMPT = 200;

import {
  asPolypodError,
  lastResult,
  type PolypodError,
  uuidv7,
  withoutUndefined,
} from '../../../base/index.ts';
import { coordinatorSystem, type Delegations } from '../../../delegation/index.ts';
import {
  type Caller,
  type Host,
  OWN_BACKEND,
  type Overrides,
  type Receipt,
  type Row,
  type TaskHistory,
  type TaskRow,
} from '../../../pod/index.ts';
import { httpRefusal } from '../../../wire/index.ts';
import { drainingError, unknown } from '../errors.ts';
import type { KeyRecord } from '../keys/key.ts';
import type { OwnedSessions } from './owned-sessions.ts';
import { defaultDirectory, permit, refuseOtherDirectory } from '../permit.ts';
import { type RefusalCounts, TASK_REJECTED } from '../refusal-counts.ts';
import { agentName, type TasksLimits, type TasksSettings } from '../settings.ts';
import { RepeatedSubmissions } from './repeated-submissions.ts';
import { promptIn, withFiles } from './task-prompt.ts';
import { newTaskId, readTaskId, type TaskName } from './task-id.ts';
import { isOver, listedState, outcomeOf, pastState, STATUS } from './task-status.ts';
import type { SubmitReply, SubmitRequest, TaskLine, TaskState, TaskStatusReply, TaskType } from '../wire.ts';

export interface FoundTask {
  readonly taskId: string;
  readonly taskType: TaskType;
  readonly row: Row;
  readonly state: TaskState;
  /** Undefined for a task that has not ended, which needs no lookup. */
  readonly history: TaskHistory | undefined;
}

/** A task that has ended. */
interface EndedTask {
  readonly podId: string;
  /** The reply for a client with this name of the session. */
  readonly reply: (sessionId: string) => TaskStatusReply;
}

/** The workload of an agent. */
export interface AgentWork {
  /** Tasks in progress, including those that wait for an approval. */
  readonly running: number;
  readonly pending: number;
  readonly current: string | undefined;
}

export interface TasksParts {
  readonly sessions: OwnedSessions;
  readonly delegations: Delegations;
  readonly refused: RefusalCounts;
}

/** Tasks: prompts that are pending or running in the sessions of this door's clients. All their data is in those sessions. */
export class Tasks {
  readonly #host: Host;
  readonly #sessions: OwnedSessions;
  readonly #delegations: Delegations;
  readonly #settings: TasksSettings;
  readonly #limits: TasksLimits;
  readonly #refused: RefusalCounts;
  /** Replies about tasks that have ended: they do not change, and clients poll them repeatedly. */
  readonly #over = new Map<string, EndedTask>();
  readonly #repeated = new RepeatedSubmissions();

  constructor(settings: TasksSettings, limits: TasksLimits, { sessions, delegations, refused }: TasksParts) {
    this.#refused = refused;
    this.#delegations = delegations;
    this.#host = settings.host;
    this.#settings = settings;
    this.#limits = limits;
    this.#sessions = sessions;
  }

  async submit(key: KeyRecord, request: SubmitRequest, idempotencyKey?: string): Promise<SubmitReply> {
    const reply = await this.#submit(key, request, idempotencyKey);
    if (reply.status === 'rejected') this.#refused.add(TASK_REJECTED);
    return reply;
  }

  /** The reply to a submission that was accepted under its idempotency key before. Undefined does not mean that it is new. */
  repeatedReply(
    key: KeyRecord,
    request: SubmitRequest,
    idempotencyKey: string | undefined,
  ): SubmitReply | undefined {
    if (idempotencyKey === undefined || this.#settings.isDraining?.() === true) return undefined;
    const repeated = this.#repeated.find(key, idempotencyKey, request);
    return repeated && this.#sessions.pod(key, repeated.podId) && repeated.reply;
  }

  async #submit(key: KeyRecord, request: SubmitRequest, idempotencyKey?: string): Promise<SubmitReply> {
    if (this.#settings.isDraining?.() === true) throw drainingError();
    const known = this.#sessions.find(key, request.sessionId);
    const { backend: wanted } = request.context ?? {};
    const backend = await this.#backendOf(known, wanted);
    const { cwd, overrides } = await permit(request.context ?? {}, key, this.#settings, backend);
    const work = this.#workFor(request, overrides);
    // A rejected task creates no session.
    if (typeof work === 'string') return rejected({ podId: uuidv7(), taskType: request.taskType }, work);
    const pod = await this.#sessions.getOrCreate(
      key,
      request.sessionId,
      cwd ?? (known === undefined ? await defaultDirectory(key, this.#settings) : known.cwd),
      wanted,
    );
    const row = this.#host.sessions.get(pod.id);
    // Also checks a session that a concurrent request has just created under the same name.
    await refuseOtherDirectory(key, row ?? (await pod.snapshot()));
    if (cwd !== undefined && row !== undefined && row.cwd !== cwd)
      throw httpRefusal(
        409,
        'other_directory',
        `the session works in another directory: leave context.workingDirectory out, or use another session`,
        { details: { field: 'context.workingDirectory' } },
      );
    const name = { podId: pod.id, taskType: request.taskType };
    const taskId = newTaskId(name, idempotencyKey === undefined ? undefined : [key.owner, idempotencyKey]);
    const { pending } = this.#limits;
    // A task that was accepted under its key keeps its place: submitting it again has no effect.
    if (this.#sessions.pending >= pending && !(await this.#isKnown(pod.id, taskId)))
      return rejected(name, `${pending} tasks are already pending: try again later`);
    const start = (): Promise<Receipt> =>
      pod.handle(
        {
          type: 'prompt',
          content: [{ type: 'text', text: work.text }],
          taskId,
          overrides: work.overrides,
          whenBusy: 'queue',
        },
        callerFor(key, idempotencyKey),
      );
    try {
      await (request.taskType === 'complex_task' ? this.#delegations.submit(pod, start) : start());
      const reply: SubmitReply = { taskId, status: 'accepted' };
      if (idempotencyKey !== undefined)
        this.#repeated.add(key, idempotencyKey, request, { podId: pod.id, reply });
      return reply;
    } catch (thrown) {
      return { taskId, status: 'rejected', message: rejection(asPolypodError(thrown)) };
    }
  }

  async #isKnown(podId: string, taskId: string): Promise<boolean> {
    const row = this.#host.sessions.get(podId);
    if (row === undefined) return false;
    return (
      row.tasks.some((task) => task.taskId === taskId) || (await this.history(podId, taskId)) !== undefined
    );
  }

  /** Finds a task that the key may read. */
  async find(key: KeyRecord, taskId: string): Promise<FoundTask> {
    const { podId, taskType } = readTaskId(taskId) ?? {};
    const row = podId === undefined ? undefined : this.#sessions.pod(key, podId);
    if (row === undefined || taskType === undefined) throw unknown(`task ${taskId}`);
    const state = stateIn(row, taskId);
    if (state !== undefined && !isOver(state)) return { taskId, taskType, row, state, history: undefined };
    const history = await this.history(row.id, taskId);
    if (history === undefined) throw unknown(`task ${taskId}`);
    // Reading the session corrects the row of a session that could not be written.
    const now = this.#host.sessions.get(row.id) ?? row;
    return {
      taskId,
      taskType,
      row: now,
      state: stateIn(now, taskId) ?? pastState(now, taskType, history),
      history,
    };
  }

  async history(podId: string, taskId: string): Promise<TaskHistory | undefined> {
    return this.#host.history.task(podId, taskId);
  }

  /** The status of a task that has ended, if it was requested before: clients poll it, and it does not change. */
  endedStatus(key: KeyRecord, taskId: string): TaskStatusReply | undefined {
    const known = this.#over.get(taskId);
    const row = known && this.#sessions.pod(key, known.podId);
    return row && known.reply(this.#sessions.nameFor(key, row));
  }

  async status(key: KeyRecord, taskId: string): Promise<TaskStatusReply> {
    const ended = this.endedStatus(key, taskId);
    if (ended !== undefined) return ended;
    const found = await this.find(key, taskId);
    const { row, state, taskType } = found;
    const history = found.history ?? (state === 'pending' ? undefined : await this.history(row.id, taskId));
    const reply = {
      taskId,
      status: STATUS[state],
      ...(state === 'pending' && { progress: 0 }),
      ...(history && outcomeOf(state, taskType, withReason(history, row))),
      state,
    };
    // If the session has no end of the task, because it could not be written, the reply may still change.
    if (isOver(state) && history?.lastSeq !== undefined) this.#keep(row.id, reply);
    return { ...reply, sessionId: this.#sessions.nameFor(key, row) };
  }

  /** Removes the task from the queue, or cancels its run. */
  async cancel(key: KeyRecord, taskId: string): Promise<TaskStatusReply> {
    const { row, state } = await this.find(key, taskId);
    if (isOver(state))
      throw httpRefusal(409, 'task_over', `the task has already ended: it is ${state}`, {
        details: { state },
      });
    const pod = this.#host.pod(row.id);
    const { queue } = await pod.snapshot();
    const waiting = queue.find((queued) => queued.taskId === taskId);
    const command =
      waiting === undefined
        ? ({ type: 'cancel' } as const)
        : ({ type: 'clear-queue', queueIds: [waiting.queueId] } as const);
    await pod.handle(command, callerFor(key));
    return this.status(key, taskId);
  }

  /** Newest first. */
  async list(
    key: KeyRecord,
    filter: { readonly sessionId?: string; readonly status?: TaskStatusReply['status'] },
  ): Promise<readonly TaskLine[]> {
    const rows =
      filter.sessionId === undefined
        ? await this.#sessions.list(key)
        : [this.#sessions.get(key, filter.sessionId)];
    return rows
      .flatMap((row) =>
        row.tasks.map((task): TaskLine => {
          const { taskId, prompt, agent } = task;
          const state = listedState(row, task);
          return {
            taskId,
            sessionId: this.#sessions.nameFor(key, row),
            status: STATUS[state],
            state,
            updatedAt: task.at,
            ...(prompt !== undefined && { userPrompt: promptIn(prompt) }),
            ...withoutUndefined({ agentName: agent }),
          };
        }),
      )
      .filter(({ status }) => filter.status === undefined || filter.status === status)
      .toSorted((one, other) => (one.updatedAt < other.updatedAt ? 1 : -1));
  }

  /** The workload of this agent for all clients, and the current task of this client. */
  async work(key: KeyRecord): Promise<AgentWork> {
    const name = agentName(this.#settings);
    const rows = await this.#host.sessions.list();
    const all = rows.flatMap((row) =>
      row.tasks.map((task) => ({ ...task, row, state: listedState(row, task) })),
    );
    // The agents of one daemon share its sessions, but not their tasks: one agent's tasks do not make another busy.
    const isOwn = ({ agent = name }: TaskRow): boolean => agent === name;
    const own = all.filter(isOwn);
    const others = all.filter((task) => !isOwn(task));
    const current = own
      .filter(({ row, state }) => STATUS[state] === 'in_progress' && this.#sessions.mayUse(key, row))
      .toSorted((one, other) => (one.at < other.at ? 1 : -1))[0];
    return {
      running: own.filter(({ state }) => state === 'running' || state === 'waiting_approval').length,
      pending: this.#sessions.pending - others.filter(({ state }) => state === 'pending').length,
      current: current?.taskId,
    };
  }

  /** The agent that does the work of a session; undefined for our own worker. */
  async #backendOf(known: Row | undefined, wanted: string | undefined): Promise<string | undefined> {
    if (known === undefined) return this.#host.backendFor(wanted);
    const { backend } = known;
    if (wanted === undefined || wanted === (backend ?? OWN_BACKEND)) return backend;
    throw httpRefusal(
      409,
      'other_backend',
      `the agent of the session is ${backend ?? OWN_BACKEND}: leave context.backend out, or use another session`,
      { details: { field: 'context.backend' } },
    );
  }

  /** The prompt and overrides of the run, or the reason for a rejection. */
  #workFor(
    { taskType, userPrompt, context = {} }: SubmitRequest,
    overrides: Overrides,
  ): { readonly text: string; readonly overrides: Overrides } | string {
    const { command } = this.#settings;
    const { files = [] } = context;
    const text = withFiles(userPrompt, files);
    switch (taskType) {
      case 'chat':
        return { text, overrides: { ...overrides, tools: [] } };
      case 'file_operation':
        return { text, overrides: { ...overrides, tools: FILE_TOOLS } };
      case 'command_execution': {
        if (command === undefined) return 'this agent does not execute commands';
        const { model, tool } = command;
        return { text: userPrompt, overrides: { ...overrides, model, tools: [tool], maxTurns: 2 } };
      }
      case 'complex_task':
        return {
          text,
          overrides: { ...overrides, appendSystem: coordinatorSystem(this.#limits.delegations) },
        };
    }
  }

  #keep(podId: string, reply: Omit<TaskStatusReply, 'sessionId'>): void {
    // The same object for the same name: the door serializes it once.
    const last = lastResult((sessionId: string): TaskStatusReply => ({ ...reply, sessionId }));
    this.#over.set(reply.taskId, { podId, reply: last });
    const [oldest] = this.#over.keys();
    if (this.#over.size > MOST_KEPT && oldest !== undefined) this.#over.delete(oldest);
  }
}

/** Undefined for a task that is no longer in the row. */
function stateIn(row: Row, taskId: string): TaskState | undefined {
  const listed = row.tasks.find((task) => task.taskId === taskId);
  return listed && listedState(row, listed);
}

function rejected(name: TaskName, message: string): SubmitReply {
  return { taskId: newTaskId(name), status: 'rejected', message };
}

export function callerFor({ owner }: KeyRecord, idempotencyKey?: string): Caller {
  return { by: owner, owner, door: 'tasks', ...withoutUndefined({ key: idempotencyKey }) };
}

/**
 * A task that cannot run now, or not here, is rejected with a message. Internal errors, and another task under the same key, are thrown.
 */
function rejection(error: PolypodError): string {
  if (error.code === 'internal' || error.code === 'conflict') throw error;
  return error.message;
}

/** Adds the reason from the session's row if the session has no end of the run, because it could not be written. */
function withReason(history: TaskHistory, { lastRun }: Row): TaskHistory {
  const isLast = lastRun !== undefined && history.runIds.has(lastRun.runId);
  return isLast ? { ...history, reason: history.reason ?? lastRun.message } : history;
}

const FILE_TOOLS = ['read', 'write', 'edit', 'ls', 'find', 'grep'];
const MOST_KEPT = 1_000;

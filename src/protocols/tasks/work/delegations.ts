import { asPolypodError, type Log, objectIn, PolypodError, stringOf } from '../../../base/index.ts';
import {
  type ClientTool,
  type Host,
  isReaderTooSlow,
  type Overrides,
  type Pod,
  type PodEvent,
  type Receipt,
} from '../../../pod/index.ts';
import { DELEGATE, ROLE_SETTINGS, ROLES, type Role, workText } from './roles.ts';
import { taskIn } from './task-history.ts';
import { newTaskId, readTaskId } from './task-id.ts';
import { resultOf } from './task-result.ts';
import { isOver, listedState } from './task-status.ts';

const DOOR = { by: 'coordinator', door: 'tasks' } as const;

/** What a coordinator's run has delegated so far. */
interface Ledger {
  readonly runId: string;
  readonly overrides: Overrides;
  count: number;
  /** How often the same was asked of the same role. */
  readonly asked: Map<string, number>;
  /** In USD. */
  spent: number;
  /** What the developer did last. */
  work: string;
}

/**
 * The colleagues of coordinators: answers their calls with the work of child pods. What a child asks is asked at the
 * coordinator's session too; a coordinator that is cancelled takes its children with it.
 */
export class Delegations {
  readonly #host: Host;
  readonly #log: Log;
  readonly #most: number;
  readonly #followed = new Set<string>();
  /** How many tasks are being submitted, and what is done to settings, by session. */
  readonly #starting = new Map<string, number>();
  readonly #turns = new Map<string, Promise<void>>();
  readonly #ledgers = new Map<string, Ledger>();
  /** Calls under way, by their id. */
  readonly #calls = new Map<string, AbortController>();
  readonly #stop = new AbortController();

  /** `most`: delegations of one run. */
  constructor(host: Host, log: Log, most: number) {
    this.#host = host;
    this.#log = log;
    this.#most = most;
  }

  /** Takes up what a process before this one left waiting. */
  async open(): Promise<void> {
    for (const { id } of await this.#host.list()) if (this.#hasWork(id)) this.#begin(id);
  }

  /** Submits a complex task: its session has the tool, and its calls are answered, until none is left there. */
  async submit(pod: Pod, start: () => Promise<Receipt>): Promise<void> {
    this.#starting.set(pod.id, (this.#starting.get(pod.id) ?? 0) + 1);
    try {
      await this.#inTurn(pod.id, () => this.#equip(pod));
      const { seq } = await start();
      this.#begin(pod.id, seq);
    } finally {
      this.#starting.set(pod.id, (this.#starting.get(pod.id) ?? 1) - 1);
    }
  }

  #begin(podId: string, after?: number): void {
    if (this.#followed.has(podId)) return;
    this.#followed.add(podId);
    this.#follow(podId, after)
      .finally(() => {
        this.#followed.delete(podId);
        this.#ledgers.delete(podId);
      })
      .then(() => this.#inTurn(podId, () => this.#unequip(this.#host.pod(podId))))
      .catch((thrown: unknown) => {
        if (!this.#stop.signal.aborted)
          this.#log.error('a coordinator is left alone', {
            pod: podId,
            message: asPolypodError(thrown).message,
          });
      });
  }

  /** What others gave the session stays. */
  async #equip(pod: Pod): Promise<void> {
    const { settings } = await pod.snapshot();
    if (settings.clientTools.some(isDelegate)) return;
    const set = {
      clientTools: [...settings.clientTools, DELEGATE],
      // What the colleagues do is judged call by call; that they are asked is not.
      rules: [...settings.rules, DELEGATE_RULE],
    };
    await pod.handle({ type: 'configure', set }, DOOR);
  }

  /** Whoever uses the session next would wait for an answer that nobody gives. */
  async #unequip(pod: Pod): Promise<void> {
    if (this.#stop.signal.aborted || this.#hasWork(pod.id) || (this.#starting.get(pod.id) ?? 0) > 0) return;
    const { settings } = await pod.snapshot();
    const set = {
      clientTools: settings.clientTools.filter((tool) => !isDelegate(tool)),
      rules: settings.rules.filter(({ tool }) => tool !== DELEGATE.name),
    };
    await pod.handle({ type: 'configure', set }, DOOR);
  }

  /** One after the other: what one gives a session must not be what another takes from it. */
  #inTurn(podId: string, act: () => Promise<void>): Promise<void> {
    const turn = (this.#turns.get(podId) ?? Promise.resolve()).then(act);
    const settled = turn.catch(() => {});
    this.#turns.set(podId, settled);
    void settled.then(() => {
      if (this.#turns.get(podId) === settled) this.#turns.delete(podId);
    });
    return turn;
  }

  close(): void {
    this.#stop.abort();
    for (const call of this.#calls.values()) call.abort();
  }

  async #follow(podId: string, after: number | undefined): Promise<void> {
    let seq = after;
    for (;;) {
      try {
        const from = seq === undefined ? {} : { after: seq };
        for await (const watched of this.#host.pod(podId).watch({ ...from, signal: this.#stop.signal })) {
          if (watched.type === 'snapshot') {
            seq = watched.snapshot.seq;
            continue;
          }
          for (const event of watched.batch.events) this.#hear(podId, event);
          seq = watched.batch.lastSeq;
          if (!this.#hasWork(podId)) return;
        }
        return;
      } catch (thrown) {
        // It was too slow, and goes on where it was.
        if (!isReaderTooSlow(thrown)) throw thrown;
      }
    }
  }

  #hear(podId: string, event: PodEvent): void {
    if (event.type === 'client-cancel') this.#calls.get(event.callId)?.abort();
    if (event.type === 'client-call' && event.name === DELEGATE.name)
      void this.#answer(podId, event.callId, event.arguments);
  }

  async #answer(podId: string, callId: string, text: string): Promise<void> {
    const stop = new AbortController();
    this.#calls.set(callId, stop);
    const { role, instructions } = objectIn(text) ?? {};
    const reply = await this.#delegate(
      podId,
      ROLES.find((name) => name === role),
      stringOf(instructions),
      stop.signal,
    ).catch((thrown: unknown) => ({ text: asPolypodError(thrown).message, isError: true }));
    this.#calls.delete(callId);
    await this.#host
      .pod(podId)
      .handle(
        {
          type: 'tool-result',
          callId,
          content: [{ type: 'text', text: reply.text || '(nothing was said)' }],
          isError: reply.isError,
        },
        DOOR,
      )
      // The call may have been cancelled in the meantime.
      .catch(() => {});
  }

  async #delegate(
    podId: string,
    role: Role | undefined,
    instructions: string,
    signal: AbortSignal,
  ): Promise<{ readonly text: string; readonly isError: boolean }> {
    const row = this.#host.row(podId);
    if (role === undefined || row === undefined)
      throw new PolypodError('bad-request', `the role must be one of ${ROLES.join(', ')}`);
    const ledger = await this.#ledgerOf(podId);
    this.#guard(ledger, role, instructions);
    const { system, tools, taskType } = ROLE_SETTINGS[role];
    const child = await this.#host.spawn(podId, {
      cwd: row.cwd,
      settings: { name: `${role} ${ledger.count}`, appendSystem: system },
    });
    const taskId = newTaskId({ podId: child.id, taskType });
    const { budget, appendSystem: _, ...overrides } = ledger.overrides;
    const shown =
      role === 'reviewer' && ledger.work !== '' ? `\n\nThe developer's work:\n${ledger.work}` : '';
    const { seq } = await child.handle(
      {
        type: 'prompt',
        content: [{ type: 'text', text: `${instructions}${shown}` }],
        taskId,
        overrides: {
          ...overrides,
          ...(tools && { tools }),
          ...(budget !== undefined && { budget: Math.max(0, budget - ledger.spent) }),
        },
      },
      DOOR,
    );
    await this.#ended(child, seq, signal);
    const history = taskIn(await this.#host.tree(child.id), taskId);
    if (history === undefined) throw new PolypodError('internal', 'the work left no trace');
    ledger.spent += history.usage?.cost ?? 0;
    if (history.status !== 'finished')
      return { text: `The ${role} did not finish: ${history.reason ?? history.status}`, isError: true };
    const text = workText(resultOf(taskType, history));
    if (role === 'developer') ledger.work = text;
    return { text, isError: false };
  }

  async #ledgerOf(podId: string): Promise<Ledger> {
    const { run } = await this.#host.pod(podId).snapshot();
    const known = this.#ledgers.get(podId);
    if (known !== undefined && known.runId === run?.runId) return known;
    const { runId = '', overrides = {} } = run ?? {};
    const ledger: Ledger = { runId, overrides, count: 0, asked: new Map(), spent: 0, work: '' };
    this.#ledgers.set(podId, ledger);
    return ledger;
  }

  /** So that nobody sends colleagues in circles. */
  #guard(ledger: Ledger, role: Role, instructions: string): void {
    ledger.count += 1;
    if (ledger.count > this.#most)
      throw new PolypodError(
        'overloaded',
        `you have delegated ${this.#most} times: finish with what you have`,
      );
    const same = (ledger.asked.get(`${role} ${instructions}`) ?? 0) + 1;
    ledger.asked.set(`${role} ${instructions}`, same);
    if (same > MOST_SAME)
      throw new PolypodError(
        'conflict',
        `you have asked the ${role} the same ${MOST_SAME} times: ask for something else, or finish`,
      );
    const { budget } = ledger.overrides;
    if (budget !== undefined && ledger.spent >= budget)
      throw new PolypodError('overloaded', 'the budget is used up: finish with what you have');
  }

  async #ended(child: Pod, after: number, signal: AbortSignal): Promise<void> {
    const cancel = (): void => void child.handle({ type: 'cancel' }, DOOR).catch(() => {});
    signal.addEventListener('abort', cancel);
    if (signal.aborted) cancel();
    try {
      for await (const watched of child.watch({ after, signal: this.#stop.signal })) {
        if (watched.type === 'snapshot') {
          if (watched.snapshot.state === 'idle') return;
          continue;
        }
        const isEnd = (event: PodEvent): boolean =>
          event.type === 'run-end' && event.outcome.status !== 'paused';
        if (watched.batch.events.some(isEnd)) return;
      }
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }

  #hasWork(podId: string): boolean {
    const row = this.#host.row(podId);
    if (row === undefined) return false;
    return row.tasks.some(
      (task) => readTaskId(task.taskId)?.taskType === 'complex_task' && !isOver(listedState(row, task)),
    );
  }
}

const MOST_SAME = 2;
const DELEGATE_RULE = { action: 'auto', tool: DELEGATE.name } as const;

function isDelegate({ name }: ClientTool): boolean {
  return name === DELEGATE.name;
}

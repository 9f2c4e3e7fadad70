import {
  asPolypodError,
  type Log,
  parseObject,
  PolypodError,
  stringOf,
  withoutUndefined,
} from '../base/index.ts';
import {
  type Caller,
  type Host,
  isReaderTooSlow,
  type Pod,
  type PodEvent,
  type Receipt,
} from '../pod/index.ts';
import { addDelegateTool, DELEGATE, removeDelegateTool } from './delegate-tool.ts';
import { Ledger } from './ledger.ts';
import { ROLE_SETTINGS, ROLES, type Role } from './roles.ts';
import { outcomeText, type WorkRecords } from './work-records.ts';

export interface DelegationsOptions {
  readonly host: Host;
  readonly log: Log;
  readonly records: WorkRecords;
  /** The sender of commands to coordinators and their colleagues. */
  readonly caller: Caller;
  /** How often one run of a coordinator may delegate. */
  readonly limit: number;
}

/**
 * Answers the delegate calls of coordinators with the work of child pods. An approval that a child requests also appears in the
 * coordinator's session; cancelling a coordinator cancels its children.
 */
export class Delegations {
  readonly #options: DelegationsOptions;
  readonly #host: Host;
  readonly #followed = new Set<string>();
  /** The number of prompts being submitted and the pending settings changes, by session. */
  readonly #starting = new Map<string, number>();
  readonly #turns = new Map<string, Promise<void>>();
  readonly #ledgers = new Map<string, Ledger>();
  /** Running calls by id. */
  readonly #calls = new Map<string, AbortController>();
  readonly #stop = new AbortController();

  constructor(options: DelegationsOptions) {
    this.#options = options;
    this.#host = options.host;
  }

  /** Resumes coordinators that an earlier process started. */
  async open(): Promise<void> {
    for (const { id } of await this.#host.sessions.list()) if (this.#hasWork(id)) this.#begin(id);
  }

  /** Starts a coordinator: adds the tool to its session and answers its calls until it has no more work. */
  async submit(pod: Pod, start: () => Promise<Receipt>): Promise<void> {
    this.#starting.set(pod.id, (this.#starting.get(pod.id) ?? 0) + 1);
    try {
      await this.#inTurn(pod.id, () => addDelegateTool(pod, this.#options.caller));
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
      .then(() => this.#inTurn(podId, () => this.#withdraw(this.#host.pod(podId))))
      .catch((thrown: unknown) => {
        if (!this.#stop.signal.aborted)
          this.#options.log.error('a coordinator is left alone', {
            pod: podId,
            message: asPolypodError(thrown).message,
          });
      });
  }

  async #withdraw(pod: Pod): Promise<void> {
    if (this.#stop.signal.aborted || this.#hasWork(pod.id) || (this.#starting.get(pod.id) ?? 0) > 0) return;
    await removeDelegateTool(pod, this.#options.caller);
  }

  /** Serializes settings changes of a session, because each change writes back lists that it has read. */
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
          for (const event of watched.batch.events) this.#onEvent(podId, event);
          seq = watched.batch.lastSeq;
          if (!this.#hasWork(podId)) return;
        }
        return;
      } catch (thrown) {
        // A watcher that was too slow resumes where it stopped.
        if (!isReaderTooSlow(thrown)) throw thrown;
      }
    }
  }

  #onEvent(podId: string, event: PodEvent): void {
    if (event.type === 'client-cancel') this.#calls.get(event.callId)?.abort();
    if (event.type === 'client-call' && event.name === DELEGATE.name)
      void this.#answer(podId, event.callId, event.arguments);
  }

  async #answer(podId: string, callId: string, text: string): Promise<void> {
    const stop = new AbortController();
    this.#calls.set(callId, stop);
    const { role, instructions } = parseObject(text) ?? {};
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
        this.#options.caller,
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
    const { caller, records } = this.#options;
    const row = this.#host.sessions.get(podId);
    if (role === undefined || row === undefined)
      throw new PolypodError('bad-request', `the role must be one of ${ROLES.join(', ')}`);
    const ledger = await this.#ledgerOf(podId);
    const count = ledger.record(role, instructions);
    const { system, tools } = ROLE_SETTINGS[role];
    const child = await this.#host.spawn(podId, {
      cwd: row.cwd,
      settings: { name: `${role} ${count}`, appendSystem: system },
    });
    const workId = records.newId(child.id, role);
    const { budget: _, appendSystem: __, ...overrides } = ledger.overrides;
    const { remainingBudget: budget } = ledger;
    const shown =
      role === 'reviewer' && ledger.latestWork !== ''
        ? `\n\nThe developer's work:\n${ledger.latestWork}`
        : '';
    const { seq } = await child.handle(
      {
        type: 'prompt',
        content: [{ type: 'text', text: `${instructions}${shown}` }],
        taskId: workId,
        overrides: { ...overrides, ...withoutUndefined({ tools, budget }) },
      },
      caller,
    );
    await this.#ended(child, seq, signal);
    const outcome = await records.outcome(child.id, workId);
    if (outcome === undefined)
      throw new PolypodError('internal', 'the session has no record of the delegated work');
    const { status, reason, cost = 0 } = outcome;
    ledger.spend(cost);
    if (status !== 'finished')
      return { text: `The ${role} did not finish: ${reason ?? status}`, isError: true };
    const text = outcomeText(outcome);
    if (role === 'developer') ledger.latestWork = text;
    return { text, isError: false };
  }

  async #ledgerOf(podId: string): Promise<Ledger> {
    const { run } = await this.#host.pod(podId).snapshot();
    const known = this.#ledgers.get(podId);
    if (known !== undefined && known.runId === run?.runId) return known;
    const ledger = new Ledger(run?.runId ?? '', run?.overrides ?? {}, this.#options.limit);
    this.#ledgers.set(podId, ledger);
    return ledger;
  }

  async #ended(child: Pod, after: number, signal: AbortSignal): Promise<void> {
    const cancel = (): void => void child.handle({ type: 'cancel' }, this.#options.caller).catch(() => {});
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
    const row = this.#host.sessions.get(podId);
    return row !== undefined && this.#options.records.isCoordinating(row);
  }
}

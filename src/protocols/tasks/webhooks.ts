import { setTimeout as sleep } from 'node:timers/promises';
import { type JsonObject, type Log, messageOf, uuidv7 } from '../../base/index.ts';
import type { Change, Host, Row } from '../../pod/index.ts';
import { ownerAndName } from './owned-sessions.ts';
import { isOver, STATUS, stateOf } from './task-status.ts';
import { post, type Webhook } from './webhook.ts';

export interface WebhookLimits {
  readonly attempts: number;
  /** Before the second attempt; then twice as long each time. */
  readonly firstDelayMs: number;
  readonly timeoutMs: number;
  /** Messages that may wait; what comes beyond is left out, and logged. */
  readonly waiting: number;
}

export const WEBHOOK_LIMITS: WebhookLimits = {
  attempts: 6,
  firstDelayMs: 1_000,
  timeoutMs: 10_000,
  waiting: 1_000,
};

/** Tells others when a task is over and when somebody is asked. What could not be told when the process ends is not told later. */
export class Webhooks {
  readonly #host: Host;
  readonly #hooks: readonly Webhook[];
  readonly #limits: WebhookLimits;
  readonly #log: Log;
  readonly #stop = new AbortController();
  readonly #forget: () => void;
  #waiting = 0;

  constructor(host: Host, hooks: readonly Webhook[], log: Log, limits: Partial<WebhookLimits> = {}) {
    this.#host = host;
    this.#hooks = hooks;
    this.#log = log;
    this.#limits = { ...WEBHOOK_LIMITS, ...limits };
    this.#forget = host.onChange((change) => this.#look(change));
  }

  close(): void {
    this.#forget();
    this.#stop.abort();
  }

  #look({ id, before }: Change): void {
    const row = this.#host.row(id);
    if (row === undefined) return;
    for (const message of newsOf(before, row))
      for (const hook of this.#hooks) void this.#deliver(hook, { id: uuidv7(), ...message });
  }

  async #deliver(hook: Webhook, message: JsonObject): Promise<void> {
    const { attempts, firstDelayMs, timeoutMs, waiting } = this.#limits;
    if (this.#waiting >= waiting) {
      this.#log.error('a webhook is left out: too many wait', { url: hook.url, message: message.id });
      return;
    }
    this.#waiting += 1;
    try {
      for (let attempt = 1; ; attempt += 1) {
        try {
          await post(hook, message, timeoutMs);
          return;
        } catch (thrown) {
          const reason = messageOf(thrown);
          this.#log.warn('a webhook was not taken', { url: hook.url, message: message.id, attempt, reason });
          if (attempt >= attempts) return;
          await sleep(firstDelayMs * 2 ** (attempt - 1), undefined, {
            signal: this.#stop.signal,
            ref: false,
          });
        }
      }
    } catch {
      // The door was closed while it waited.
    } finally {
      this.#waiting -= 1;
    }
  }
}

/** What has happened between two rows that others are told of. */
export function newsOf(before: Row | undefined, row: Row): readonly JsonObject[] {
  const place = { ...ownerAndName(row), podId: row.id, at: row.updatedAt };
  const states = new Map(statesOf(before));
  const over = statesOf(row).flatMap(([taskId, state]) => {
    const was = states.get(taskId);
    if (!isOver(state) || was === state) return [];
    return [{ type: `task.${STATUS[state]}`, taskId, status: STATUS[state], state, ...place }];
  });
  const known = new Set(before?.approvals.map(({ approvalId }) => approvalId));
  const asked = row.approvals
    .filter(({ approvalId }) => !known.has(approvalId))
    .map(({ approvalId, tool, title }) => ({ type: 'approval.pending', approvalId, tool, title, ...place }));
  return [...over, ...asked];
}

function statesOf(row: Row | undefined): readonly (readonly [string, ReturnType<typeof stateOf>])[] {
  return (row?.tasks ?? []).map((task, index, all) => [
    task.taskId,
    stateOf(task.status, index === all.length - 1, row ?? { state: 'idle' }),
  ]);
}

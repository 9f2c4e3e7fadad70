import { setTimeout as sleep } from 'node:timers/promises';
import {
  isCertificateError,
  type JsonObject,
  type Log,
  messageOf,
  systemCodeOf,
  uuidv7,
  withTrustHint,
} from '../../../base/index.ts';
import type { Change, Host, Row } from '../../../pod/index.ts';
import { ownerAndName } from '../work/owned-sessions.ts';
import { isOver, listedState, STATUS } from '../work/task-status.ts';
import type { TaskState } from '../wire.ts';
import type { TasksSettings, Webhook, WebhookLimits } from '../settings.ts';
import { createPost, type Post } from './webhook.ts';

export const WEBHOOK_LIMITS: WebhookLimits = {
  attempts: 6,
  firstDelayMs: 1_000,
  timeoutMs: 10_000,
  lastMs: 5_000,
  waiting: 1_000,
};

/** Notifies webhooks of finished tasks and pending approvals. Messages that are pending when the process is killed are lost. */
export class Webhooks {
  readonly #host: Host;
  readonly #hooks: readonly Webhook[];
  readonly #post: Post;
  readonly #limits: WebhookLimits;
  readonly #log: Log;
  /** Aborted when the agent stops: retries are no longer delayed. */
  readonly #stopRetries = new AbortController();
  readonly #stop = new AbortController();
  readonly #forget: () => void;
  readonly #deliveries = new Set<Promise<void>>();

  constructor(
    host: Host,
    { webhooks: hooks = [], proxies }: Pick<TasksSettings, 'webhooks' | 'proxies'>,
    log: Log,
    limits: Partial<WebhookLimits> = {},
  ) {
    this.#host = host;
    this.#hooks = hooks;
    this.#post = createPost(proxies);
    this.#log = log;
    this.#limits = { ...WEBHOOK_LIMITS, ...limits };
    this.#forget = hooks.length === 0 ? () => {} : host.sessions.onChange((change) => this.#look(change));
  }

  /** Sends pending messages once more without delay. Those that are not accepted in time are dropped and logged. */
  async close(): Promise<void> {
    this.#forget();
    this.#stopRetries.abort();
    const timer = setTimeout(() => this.#stop.abort(), this.#limits.lastMs);
    await Promise.all(this.#deliveries);
    clearTimeout(timer);
  }

  #look({ id, before }: Change): void {
    const row = this.#host.sessions.get(id);
    if (row === undefined) return;
    for (const message of newsOf(before, row))
      for (const hook of this.#hooks) this.#send(hook, { id: uuidv7(), ...message });
  }

  #send(hook: Webhook, message: JsonObject): void {
    if (this.#deliveries.size >= this.#limits.waiting) {
      this.#log.error('dropped a webhook message: too many are pending', {
        url: hook.url,
        message: message.id,
      });
      return;
    }
    const delivery = this.#deliver(hook, message).finally(() => this.#deliveries.delete(delivery));
    this.#deliveries.add(delivery);
  }

  async #deliver(hook: Webhook, message: JsonObject): Promise<void> {
    const { attempts, timeoutMs } = this.#limits;
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      const isLast = this.#stopRetries.signal.aborted;
      let isFinal = false;
      try {
        await this.#post(hook, message, { timeoutMs, signal: this.#stop.signal });
        return;
      } catch (thrown) {
        const reason = withTrustHint(messageOf(thrown), systemCodeOf(thrown));
        isFinal = isCertificateError(systemCodeOf(thrown));
        this.#log.warn('a webhook message was not accepted', {
          url: hook.url,
          message: message.id,
          attempt,
          reason,
        });
      }
      if (isLast || isFinal) break;
      await this.#pause(attempt);
    }
    this.#log.error('gave up on a webhook message', {
      url: hook.url,
      message: message.id,
      type: message.type,
    });
  }

  /** Waits until the next attempt is due, or until the agent stops. */
  async #pause(attempt: number): Promise<void> {
    const { signal } = this.#stopRetries;
    await sleep(this.#limits.firstDelayMs * 2 ** (attempt - 1), undefined, { signal, ref: false }).catch(
      () => {},
    );
  }
}

/** The messages for the changes between two rows. */
export function newsOf(before: Row | undefined, row: Row): readonly JsonObject[] {
  const common = { ...ownerAndName(row), podId: row.id, at: row.updatedAt };
  const states = new Map(statesOf(before));
  const over = statesOf(row).flatMap(([taskId, state]) => {
    const was = states.get(taskId);
    if (!isOver(state) || was === state) return [];
    return [{ type: `task.${STATUS[state]}`, taskId, status: STATUS[state], state, ...common }];
  });
  const known = new Set(before?.approvals.map(({ approvalId }) => approvalId));
  const asked = row.approvals
    .filter(({ approvalId }) => !known.has(approvalId))
    .map(({ approvalId, tool, title }) => ({ type: 'approval.pending', approvalId, tool, title, ...common }));
  return [...over, ...asked];
}

function statesOf(row: Row | undefined): readonly (readonly [string, TaskState])[] {
  return row === undefined ? [] : row.tasks.map((task) => [task.taskId, listedState(row, task)]);
}

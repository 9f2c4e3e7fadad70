import { withoutUndefined } from '../../../base/index.ts';
import { randomBytes } from 'node:crypto';
import { NO_ID, rpcResult } from '../../../wire/index.ts';
import { Chunk } from './backlog.ts';
import type { Params } from '../params.ts';
import { HEARTBEAT, type HldEvent, SUBSCRIBED } from '../wire.ts';

/** Sends a chunk to one subscriber. */
export type Subscriber = (lines: Chunk) => void;

/** A line for subscribers, with a number that identifies it. */
interface Line {
  readonly number: number;
  readonly text: string;
}

/** The events that a subscriber wants. An absent field matches everything. */
export interface EventFilter {
  readonly types?: ReadonlySet<string>;
  readonly sessionId?: string;
  readonly runId?: string;
}

export function filterIn(params: Params): EventFilter {
  const types = params.texts('event_types');
  const sessionId = params.text('session_id');
  const runId = params.text('run_id');
  return {
    ...(types && { types: new Set(types) }),
    ...withoutUndefined({ sessionId, runId }),
  };
}

interface Subscription {
  readonly filter: EventFilter;
  readonly subscriber: Subscriber;
  readonly heartbeat: NodeJS.Timeout;
  /** The lines for the next write. */
  lines: Line[];
}

/**
 * All subscribers. Events that are published together are sent with one write per subscriber, and are encoded and in memory once for all
 * subscribers with the same selection. No subscriber waits for another.
 */
export class Subscriptions {
  readonly #heartbeatMs: number;
  readonly #now: () => number;
  readonly #subscriptions = new Set<Subscription>();
  #isDue = false;
  #lines = 0;

  constructor({ heartbeatMs, now }: { readonly heartbeatMs: number; readonly now: () => number }) {
    this.#heartbeatMs = heartbeatMs;
    this.#now = now;
  }

  get size(): number {
    return this.#subscriptions.size;
  }

  /** Confirms the subscription and sends every event published from now on. Returns a function that ends it. */
  add(filter: EventFilter, subscriber: Subscriber): () => void {
    const heartbeat = setInterval(
      () => this.#send(subscription, this.#line(HEARTBEAT_LINE)),
      this.#heartbeatMs,
    );
    const subscription: Subscription = { filter, subscriber, heartbeat, lines: [] };
    this.#subscriptions.add(subscription);
    const confirmation = { subscription_id: newId(this.#now()), message: SUBSCRIBED };
    this.#send(subscription, this.#line(`${rpcResult(confirmation, NO_ID)}\n`));
    return () => this.#remove(subscription);
  }

  /** `runId` is the run of the event, also where the event itself does not contain it. */
  publish(event: HldEvent, runId: string | undefined): void {
    let line: Line | undefined;
    for (const subscription of this.#subscriptions)
      if (isWanted(event, runId, subscription.filter))
        this.#send(subscription, (line ??= this.#line(`${rpcResult({ event }, NO_ID)}\n`)));
  }

  /** Sends the remaining lines and ends all subscriptions. */
  close(): void {
    this.#flush();
    for (const subscription of this.#subscriptions) this.#remove(subscription);
  }

  #line(text: string): Line {
    this.#lines += 1;
    return { number: this.#lines, text };
  }

  #send(subscription: Subscription, line: Line): void {
    subscription.lines.push(line);
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#isDue = false;
    const chunks = new Map<string, Chunk>();
    for (const subscription of this.#subscriptions) {
      const { lines, subscriber } = subscription;
      if (lines.length === 0) continue;
      subscription.lines = [];
      const key = lines.map(({ number }) => number).join(' ');
      const chunk = chunks.get(key) ?? new Chunk(Buffer.from(lines.map(({ text }) => text).join('')));
      chunks.set(key, chunk);
      subscriber(chunk);
    }
  }

  #remove(subscription: Subscription): void {
    clearInterval(subscription.heartbeat);
    this.#subscriptions.delete(subscription);
  }
}

const HEARTBEAT_LINE = `${rpcResult(HEARTBEAT, NO_ID)}\n`;

function isWanted(
  { type, data }: HldEvent,
  runId: string | undefined,
  { types, sessionId, runId: wantedRun }: EventFilter,
): boolean {
  return (
    (types === undefined || types.has(type)) &&
    (sessionId === undefined || data.session_id === sessionId) &&
    (wantedRun === undefined || runId === wantedRun)
  );
}

/** The time and a random part, as clients expect it. */
function newId(now: number): string {
  const time = new Date(now).toISOString().replaceAll(/\D/g, '').slice(0, 14);
  return `${time}-${randomBytes(8).toString('hex')}`;
}

import { randomBytes } from 'node:crypto';
import { NO_ID, rpcResult } from '../../../wire/index.ts';
import { Chunk } from './backlog.ts';
import type { Params } from '../params.ts';
import { HEARTBEAT, type HldEvent, SUBSCRIBED } from '../wire.ts';

/** Where a subscriber's lines go. */
export type Subscriber = (lines: Chunk) => void;

/** A line for subscribers, under a number by which it is told from the others. */
interface Line {
  readonly number: number;
  readonly text: string;
}

/** Which events a subscriber wants; what is not said does not matter. */
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
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(runId === undefined ? {} : { runId }),
  };
}

interface Subscription {
  readonly filter: EventFilter;
  readonly subscriber: Subscriber;
  readonly heartbeat: NodeJS.Timeout;
  /** What is to be sent with the next write. */
  lines: Line[];
}

/**
 * All that have subscribed. What happens at once is sent with one write to each, and is encoded and in memory once for all that
 * want the same; nobody waits for anybody.
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

  /** Confirms it; what is published from now on is told. Answers with how to end it. */
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

  /** `runId` is the run that it belongs to, also where the wire does not say so. */
  publish(event: HldEvent, runId: string | undefined): void {
    let line: Line | undefined;
    for (const subscription of this.#subscriptions)
      if (isWanted(event, runId, subscription.filter))
        this.#send(subscription, (line ??= this.#line(`${rpcResult({ event }, NO_ID)}\n`)));
  }

  /** Sends what is left, and ends them all. */
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

/** The time and something random, as clients know it. */
function newId(now: number): string {
  const time = new Date(now).toISOString().replaceAll(/\D/g, '').slice(0, 14);
  return `${time}-${randomBytes(8).toString('hex')}`;
}

import type { ContentKind, ContentPosition, GrowingMessage } from './growing-message.ts';
import type { Outbox } from './outbox.ts';
import type { RpcAssistantEvent } from '../wire.ts';

/** Every update contains the message twice. This rate limits the output while the message grows. */
const BYTES_PER_MS = 20_000;

/**
 * Writes the updates of a growing answer. Deltas are merged within a turn of the event loop, while the client has not read earlier output,
 * and for a time proportional to the size of the last update.
 */
export class MessageUpdates {
  readonly #out: Outbox;
  readonly #now: () => number;
  #message: GrowingMessage | undefined;
  /** Deltas that are not written yet, by index in the content. */
  readonly #pending = new Map<number, { readonly kind: ContentKind; text: string; seq: number }>();
  #notBefore = 0;
  #isScheduled = false;

  constructor(out: Outbox, now: () => number = () => performance.now()) {
    this.#out = out;
    this.#now = now;
  }

  begin(message: GrowingMessage): void {
    this.#message = message;
    this.#pending.clear();
  }

  /** `seq` is the number of the pod event. */
  delta({ contentIndex, kind }: ContentPosition, text: string, seq: number): void {
    this.#message?.grow(contentIndex, text);
    const pending = this.#pending.get(contentIndex);
    if (pending === undefined) this.#pending.set(contentIndex, { kind, text, seq });
    else {
      pending.text += text;
      pending.seq = seq;
    }
    this.#schedule();
  }

  /** Writes another event of the answer, unmerged and after all earlier deltas. */
  send(event: RpcAssistantEvent, seq: number): void {
    this.flush();
    this.#write(event, seq);
  }

  /** Writes the pending deltas, so that later events follow them. */
  flush(): void {
    if (this.#pending.size === 0) return;
    const pending = [...this.#pending];
    this.#pending.clear();
    for (const [contentIndex, { kind, text, seq }] of pending)
      this.#write({ type: `${kind}_delta`, contentIndex, delta: text }, seq);
  }

  end(): void {
    this.flush();
    this.#message = undefined;
  }

  #write(event: RpcAssistantEvent, seq: number): void {
    if (this.#message === undefined) return;
    const message = this.#message.json();
    const head = JSON.stringify(event).slice(0, -1);
    const line = `{"type":"message_update","message":${message},"assistantMessageEvent":${head},"partial":${message}},"seq":${seq}}`;
    this.#out.write(line);
    this.#notBefore = this.#now() + line.length / BYTES_PER_MS;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    const waitMs = this.#notBefore - this.#now();
    if (waitMs > 0) setTimeout(() => this.#due(), waitMs);
    else setImmediate(() => this.#due());
  }

  #due(): void {
    void this.#out.drained().then(() => {
      this.#isScheduled = false;
      this.flush();
    });
  }
}

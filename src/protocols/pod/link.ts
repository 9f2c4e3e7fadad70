import {
  asPolypodError,
  isValueDeeperThan,
  type JsonObject,
  MESSAGE_DEPTH,
  PolypodError,
  tooDeepMessage,
  withoutUndefined,
} from '../../base/index.ts';
import type { Caller, Pod, Receipt } from '../../pod/index.ts';
import type { Broadcast, BroadcastListener } from './broadcast.ts';
import { catchUp } from './catch-up.ts';
import { decode, type Decoded, decodeObject, type Request } from './decode.ts';
import { errorLines, refusalOf } from './errors.ts';
import { historyItems } from './encode/items.ts';
import { type ClientKind, type WireLine, toExtended, toPlain } from './encode/wire-lines.ts';
import { inFlight, wireSnapshot } from './encode/snapshot.ts';
import { answerLines, type BroadcastAnswer, type EncodedBatch, type Lines } from './encode/event-lines.ts';
import type { ExtraEvents, RequestId } from './wire.ts';

/** The output of a link. */
export interface Receiver {
  /** Receives lines that belong together. Never waits. */
  take(lines: Lines): void;
  /** Bytes that were written and not yet read by the client. */
  pending(): number;
  /** Resolves when the client has read the pending bytes or has disconnected. */
  drained(): Promise<void>;
  /** Nothing follows. Receives the error that `take` threw, if it did. */
  close(thrown?: unknown): void;
}

export interface LinkOptions {
  /** The name that other clients see. A client can change it when it subscribes. */
  readonly by: string;
  /** Bytes that a client may leave unread before it is disconnected. */
  readonly pendingBytes: number;
  /** Called for every request that is refused. */
  readonly onRefused?: () => void;
  /** Called once, when the client has left. */
  readonly onLeave?: () => void;
}

/** One client of one pod. It receives the pod's events from its creation on. */
export class Link implements BroadcastListener {
  readonly #broadcast: Broadcast;
  readonly #receiver: Receiver;
  readonly #options: LinkOptions;
  readonly #gone = new AbortController();
  #by: string;
  #kind: ClientKind = 'plain';
  /** The number of the last event that this client was sent, or that it does not need. */
  #seq: number;
  /** False while it is being sent past events. */
  #isLive = true;
  #requested: 'nothing' | 'something' | 'to-watch' = 'nothing';
  #closesWhenIdle = false;

  constructor(broadcast: Broadcast, receiver: Receiver, options: LinkOptions) {
    this.#broadcast = broadcast;
    this.#receiver = receiver;
    this.#options = options;
    this.#by = options.by;
    this.#seq = broadcast.seq;
    broadcast.add(this);
  }

  get pod(): Pod {
    return this.#broadcast.pod;
  }

  get isGone(): boolean {
    return this.#gone.signal.aborted;
  }

  /** Handles a line. The sender receives the result or the error; nothing is thrown. */
  async receive(line: string): Promise<void> {
    await this.#request(decode(line)).catch(() => {});
  }

  /** Handles a request of a program in this process. A refusal is also thrown. */
  async call(request: JsonObject): Promise<void> {
    await this.#request(
      isValueDeeperThan(MESSAGE_DEPTH, request)
        ? { request: new PolypodError('bad-request', `the request is nested too deep: ${tooDeepMessage()}`) }
        : decodeObject(request),
    );
  }

  /** Sends an error about the client's input to this client alone. */
  refuse(error: PolypodError): void {
    this.#options.onRefused?.();
    this.#note('something');
    this.#answer(errorLines(error, undefined), undefined);
  }

  /** The client has ended its input. If it has sent no request, it stays; else it is closed when its requests are done. */
  finish(): void {
    if (this.#requested !== 'something') return;
    this.#closesWhenIdle = true;
    this.#leaveIfQuiet();
  }

  /** The client has disconnected. A run that it started continues. */
  leave(): void {
    if (this.isGone) return;
    this.#gone.abort();
    this.#broadcast.remove(this);
    this.#options.onLeave?.();
  }

  deliver(batch: EncodedBatch): void {
    if (!this.#isLive || batch.lastSeq <= this.#seq) return;
    if (this.#receiver.pending() > this.#options.pendingBytes) {
      this.#cutOff();
      return;
    }
    this.#take(batch.lines(this.#kind, this.#seq));
    this.#seq = batch.lastSeq;
    this.#leaveIfQuiet();
  }

  deliverAnswer(answer: BroadcastAnswer): void {
    if (this.#isLive) this.#take(answer.lines(this.#kind));
  }

  end(reason: PolypodError | undefined): void {
    if (reason !== undefined) this.#answer(errorLines(reason, undefined), undefined);
    this.#close();
  }

  async #request({ method, requestId, key, request }: Decoded): Promise<void> {
    try {
      if (this.isGone) throw new PolypodError('conflict', 'the link is closed: open another one');
      const isRefused = request instanceof PolypodError;
      this.#note(!isRefused && request.type === 'subscribe' ? 'to-watch' : 'something');
      if (isRefused) throw request;
      await this.#do(request, requestId, key);
    } catch (thrown) {
      const error = asPolypodError(thrown);
      this.#refuse(error, method, requestId);
      throw error;
    }
  }

  #note(requested: 'something' | 'to-watch'): void {
    if (this.#requested !== 'to-watch') this.#requested = requested;
  }

  async #do(request: Request, requestId: RequestId | undefined, key: string | undefined): Promise<void> {
    switch (request.type) {
      case 'get-status':
        this.#reply(this.#broadcast.status(), requestId);
        return;
      case 'get-history': {
        const snapshot = await this.pod.snapshot();
        await eventsSent();
        const items = historyItems(snapshot.items);
        const lines = [
          toPlain('history', { items }),
          toExtended('history', { items, in_flight: inFlight(snapshot) }),
        ];
        this.#reply(lines, requestId);
        return;
      }
      case 'subscribe':
        await this.#subscribe(request, requestId);
        return;
      case 'command': {
        const receipt = await this.pod.perform(request.command, this.#caller(key));
        await eventsSent();
        if (requestId !== undefined) this.#answer([toExtended('accepted', accepted(receipt))], requestId);
      }
    }
  }

  async #subscribe(
    { after, name }: Extract<Request, { type: 'subscribe' }>,
    requestId: RequestId | undefined,
  ): Promise<void> {
    if (name !== undefined) this.#by = name;
    this.#kind = 'extended';
    this.#isLive = false;
    try {
      await catchUp(this.#broadcast, after, {
        onSnapshot: (snapshot, reason) =>
          this.#answer([toExtended('snapshot', wireSnapshot(snapshot, reason))], requestId, snapshot.seq),
        onSubscribed: (seq) => this.#answer([toExtended('subscribed', { after: seq })], requestId),
        onBatch: (batch) => this.#take(batch.lines('extended', 0)),
        onLive: (seq) => {
          [this.#seq, this.#isLive] = [seq, true];
        },
        drained: () => this.#receiver.drained(),
        signal: this.#gone.signal,
      });
    } catch (thrown) {
      // The client's position is unknown, so nothing more can be sent to it.
      const error = asPolypodError(thrown);
      this.end(error);
      throw error;
    }
  }

  #caller(key: string | undefined): Caller {
    return { by: this.#by, door: 'pod', ...withoutUndefined({ key }) };
  }

  /** Sends to all clients, or only to the sender if its line has a request id. */
  #reply(lines: readonly WireLine[], requestId: RequestId | undefined): void {
    if (requestId === undefined) this.#broadcast.broadcast(lines);
    else this.#answer(lines, requestId);
  }

  #refuse(error: PolypodError, method: string | undefined, requestId: RequestId | undefined): void {
    this.#options.onRefused?.();
    const lines = errorLines(error, method);
    if (refusalOf(error, method).isBroadcast) this.#reply(lines, requestId);
    else this.#answer(lines, requestId);
  }

  #answer(lines: readonly WireLine[], requestId: RequestId | undefined, seq?: number): void {
    this.#take(answerLines(this.#kind, lines, withoutUndefined({ request_id: requestId, seq })));
  }

  #take(lines: Lines): void {
    if (this.isGone || lines.events.length === 0) return;
    try {
      this.#receiver.take(lines);
    } catch (thrown) {
      // An error of one client must not affect the others.
      this.#close(thrown);
    }
  }

  /** Disconnects a client that does not read. Unread events stay in the pod's log: the client can resume. */
  #cutOff(): void {
    const resumeAfter = this.#seq;
    const message = `disconnected: more than ${this.#options.pendingBytes} bytes were unread. Reconnect and subscribe after ${resumeAfter}`;
    this.#answer(
      [
        toPlain('error', { code: 'internal', message, resume_after: resumeAfter }),
        toExtended('error', { code: 'overloaded', message, resume_after: resumeAfter }),
      ],
      undefined,
    );
    this.#close();
  }

  #leaveIfQuiet(): void {
    if (this.#closesWhenIdle && this.#broadcast.isQuiet) this.#close();
  }

  #close(thrown?: unknown): void {
    if (this.isGone) return;
    this.leave();
    this.#receiver.close(thrown);
  }
}

/**
 * Waits until the events that the pod has written are sent, which happens in the same turn of the event loop. The client's next line then
 * sees the pod's new state.
 */
function eventsSent(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function accepted(receipt: Receipt): ExtraEvents['accepted'] {
  const { seq, runId, queueId, approvalId, shellId, entryId } = receipt;
  return {
    seq,
    ...withoutUndefined({
      run_id: runId,
      queue_id: queueId,
      approval_id: approvalId,
      shell_id: shellId,
      entry_id: entryId,
    }),
  };
}

import {
  asPolypodError,
  isValueDeeperThan,
  type JsonObject,
  MESSAGE_DEPTH,
  PolypodError,
  tooDeep,
} from '../../base/index.ts';
import type { Caller, Pod, Receipt } from '../../pod/index.ts';
import type { Broadcast, Listener } from './broadcast.ts';
import { catchUp } from './catch-up.ts';
import { decode, type Decoded, decodeObject, type Request } from './decode.ts';
import { errorLines, refusalOf } from './errors.ts';
import { withoutUndefined } from './encode/without-undefined.ts';
import { historyItems } from './encode/items.ts';
import { type ClientKind, type WireLine, toExtended, toPlain } from './encode/wire-lines.ts';
import { inFlight, wireSnapshot } from './encode/snapshot.ts';
import { answerLines, type BroadcastAnswer, type EncodedBatch, type Lines } from './encode/event-lines.ts';
import type { ExtraEvents, RequestId } from './wire.ts';

/** Where a link's lines go. */
export interface Receiver {
  /** Lines that belong together. Never waits. */
  take(lines: Lines): void;
  /** Bytes that were taken and not yet read by the other side. */
  pending(): number;
  /** Resolves when the other side has read what was pending, or is gone. */
  drained(): Promise<void>;
  /** Nothing more follows; with what `take` threw, if it did. */
  close(thrown?: unknown): void;
}

export interface LinkOptions {
  /** Who it is, as others are told; a client may name itself when it subscribes. */
  readonly by: string;
  /** Bytes that may wait to be read; past that the client is cut off. */
  readonly pendingBytes: number;
  /** Told of everything that the client is refused. */
  readonly onRefused?: () => void;
  /** Called once, when the client listens no longer. */
  readonly onLeave?: () => void;
}

/** One client of one pod. It hears the pod from the moment it is made. */
export class Link implements Listener {
  readonly #broadcast: Broadcast;
  readonly #receiver: Receiver;
  readonly #options: LinkOptions;
  readonly #gone = new AbortController();
  #by: string;
  #kind: ClientKind = 'plain';
  /** The last event that this client has been told of, or that was before its time. */
  #seq: number;
  /** False while it is being told what was before its time. */
  #isLive = true;
  #asked: 'nothing' | 'something' | 'to-watch' = 'nothing';
  #leavesWhenQuiet = false;

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

  /** Does what a line asks for. Its sender is told what became of it; nothing is thrown. */
  async receive(line: string): Promise<void> {
    await this.#request(decode(line)).catch(() => {});
  }

  /** The same for a program in this process, to which a refusal is thrown as well. */
  async call(request: JsonObject): Promise<void> {
    await this.#request(
      isValueDeeperThan(MESSAGE_DEPTH, request)
        ? { request: new PolypodError('bad-request', `the request is nested too deep: ${tooDeep()}`) }
        : decodeObject(request),
    );
  }

  /** Tells this client alone that something it sent is refused. */
  refuse(error: PolypodError): void {
    this.#options.onRefused?.();
    this.#note('something');
    this.#answer(errorLines(error, undefined), undefined);
  }

  /** The client says nothing more. One that only listens stays; else it goes when what it asked for is over. */
  finish(): void {
    if (this.#asked !== 'something') return;
    this.#leavesWhenQuiet = true;
    this.#leaveIfQuiet();
  }

  /** The client is gone. A run that it began goes on. */
  leave(): void {
    if (this.isGone) return;
    this.#gone.abort();
    this.#broadcast.remove(this);
    this.#options.onLeave?.();
  }

  deliver(telling: EncodedBatch): void {
    if (!this.#isLive || telling.lastSeq <= this.#seq) return;
    if (this.#receiver.pending() > this.#options.pendingBytes) {
      this.#cutOff();
      return;
    }
    this.#take(telling.lines(this.#kind, this.#seq));
    this.#seq = telling.lastSeq;
    this.#leaveIfQuiet();
  }

  hear(answer: BroadcastAnswer): void {
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

  #note(asked: 'something' | 'to-watch'): void {
    if (this.#asked !== 'to-watch') this.#asked = asked;
  }

  async #do(request: Request, requestId: RequestId | undefined, key: string | undefined): Promise<void> {
    switch (request.type) {
      case 'get-status':
        this.#reply(this.#broadcast.status(), requestId);
        return;
      case 'get-history': {
        const snapshot = await this.pod.snapshot();
        await told();
        const items = historyItems(snapshot.items);
        const said = [
          toPlain('history', { items }),
          toExtended('history', { items, in_flight: inFlight(snapshot) }),
        ];
        this.#reply(said, requestId);
        return;
      }
      case 'subscribe':
        await this.#subscribe(request, requestId);
        return;
      case 'command': {
        const receipt = await this.pod.perform(request.command, this.#caller(key));
        await told();
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
      // Where it is cannot be told, so what follows cannot either.
      const error = asPolypodError(thrown);
      this.end(error);
      throw error;
    }
  }

  #caller(key: string | undefined): Caller {
    return { by: this.#by, door: 'pod', ...(key === undefined ? {} : { key }) };
  }

  /** To everybody, unless the sender has marked its line. */
  #reply(said: readonly WireLine[], requestId: RequestId | undefined): void {
    if (requestId === undefined) this.#broadcast.say(said);
    else this.#answer(said, requestId);
  }

  #refuse(error: PolypodError, method: string | undefined, requestId: RequestId | undefined): void {
    this.#options.onRefused?.();
    const said = errorLines(error, method);
    if (refusalOf(error, method).isBroadcast) this.#reply(said, requestId);
    else this.#answer(said, requestId);
  }

  #answer(said: readonly WireLine[], requestId: RequestId | undefined, seq?: number): void {
    this.#take(answerLines(this.#kind, said, { ...withoutUndefined({ request_id: requestId, seq }) }));
  }

  #take(lines: Lines): void {
    if (this.isGone || lines.events.length === 0) return;
    try {
      this.#receiver.take(lines);
    } catch (thrown) {
      // One client's bug is not the others'.
      this.#close(thrown);
    }
  }

  /** What it has not read stays in the pod's log: it may come back for it. */
  #cutOff(): void {
    const resumeAfter = this.#seq;
    const message = `cut off: more than ${this.#options.pendingBytes} bytes were waiting to be read. Connect again and subscribe after ${resumeAfter}`;
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
    if (this.#leavesWhenQuiet && this.#broadcast.isQuiet) this.#close();
  }

  #close(thrown?: unknown): void {
    if (this.isGone) return;
    this.leave();
    this.#receiver.close(thrown);
  }
}

/** What the pod has written is told in the same turn of the loop. After it a client's next line finds the pod as its last one left it. */
function told(): Promise<void> {
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

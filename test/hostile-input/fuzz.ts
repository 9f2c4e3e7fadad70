import { tryParse } from '../../src/base/index.ts';
import { LineClient } from './line-client.ts';
import type { Connection } from './connections.ts';
import { DOORS, type Door, type Pod } from './doors.ts';
import { Random, seedFor } from './random.ts';
import { startTarget, type Target, type TargetOptions } from './target.ts';

export interface FuzzOptions extends TargetOptions {
  readonly messages: number;
  readonly seed: number;
  /** Only this door; with a batch, to reproduce a failure. */
  readonly only?: { readonly door: string; readonly batch?: number };
  readonly onProgress?: (line: string) => void;
}

export interface FuzzResult {
  readonly sent: Readonly<Record<string, number>>;
  readonly answers: Readonly<Record<string, number>>;
  /** Batches whose connection the daemon closed before the probe was answered. */
  readonly closed: Readonly<Record<string, number>>;
  readonly seconds: number;
  /** The duration of the slowest health probe of each door, in milliseconds. */
  readonly slowest: Readonly<Record<string, number>>;
  readonly heapBefore: number;
  readonly heapAfter: number;
  readonly unexpected: number;
  readonly log: string;
}

/** How many of each hundred messages go to which door. */
const SHARES: Readonly<Record<string, number>> = {
  pod: 21,
  rpc: 15,
  stdio: 5,
  hld: 17,
  acp: 8,
  control: 12,
  webSocket: 10,
  http: 12,
};
const BATCH = 150;
const ANSWER_MS = 60_000;
const TRIES = 200;
/** Idle pods are unloaded soon: the memory of a loaded pod is not a leak. */
const CONFIG = 'version: 1\nhibernate_after: 3s\n';
const FEW_PODS = 20;
/** How often sessions are replaced, so that their memory does not look like a leak. */
const BATCHES_PER_POD = 20;

/** A failure, with what is needed to reproduce it. */
export class FuzzFailure extends Error {
  constructor(reason: string, seed: number, door: string, batch: number, messages: readonly Uint8Array[]) {
    const shown = messages.map((bytes) =>
      JSON.stringify(Buffer.from(bytes.subarray(0, 400)).toString('latin1')),
    );
    super(
      `${door}: ${reason}\nAgain: POLYPOD_HOSTILE_SEED=${seed} POLYPOD_HOSTILE_ONLY=${door}:${batch} npm run proof:hostile\n` +
        `${messages.length} messages (latin1, cut at 400 bytes):\n${shown.slice(0, 150).join('\n')}`,
    );
  }
}

export async function fuzz(options: FuzzOptions): Promise<FuzzResult> {
  const run = new Fuzz(await startTarget({ config: CONFIG, ...options }), options);
  try {
    return await run.run();
  } finally {
    await run.target.close();
  }
}

interface Sender {
  readonly name: string;
  readonly door: Door;
  readonly batch: number;
  readonly tag: string;
}

class Fuzz {
  readonly target: Target;
  readonly #options: FuzzOptions;
  readonly #sent: Record<string, number> = {};
  readonly #answers: Record<string, number> = {};
  readonly #closed: Record<string, number> = {};
  readonly #slowest: Record<string, number> = {};
  #pod: Pod;
  /** Two at once would remove each other's pods. */
  #replacing: Promise<void> | undefined;
  #tags = 0;
  #batches = 0;
  #failed: Error | undefined;

  constructor(target: Target, options: FuzzOptions) {
    this.target = target;
    this.#options = options;
    this.#pod = { id: target.podId, socket: target.pod, project: target.project };
  }

  async run(): Promise<FuzzResult> {
    const { messages, only } = this.#options;
    const began = performance.now();
    const isRepeated = only?.batch !== undefined;
    if (only?.batch !== undefined) await this.#again(only.door, only.batch);
    // What is loaded and cached with the first messages is not a leak.
    else await this.#flood(Math.min(messages * 0.1, 20_000), 0);
    await this.#clean();
    const heapBefore = await this.target.heap();
    if (!isRepeated) await this.#flood(messages, 1_000_000);
    await this.#clean();
    const heapAfter = await this.target.heap();
    return {
      sent: this.#sent,
      answers: this.#answers,
      closed: this.#closed,
      slowest: this.#slowest,
      seconds: (performance.now() - began) / 1000,
      heapBefore,
      heapAfter,
      unexpected: await this.#metric('polypod_unexpected_errors_total'),
      log: this.target.log(),
    };
  }

  /** Sends to all doors at once, each with its share, while the health of every door is probed. */
  async #flood(messages: number, firstBatch: number): Promise<void> {
    const over = new AbortController();
    const probing = this.#probe(over.signal);
    const flooding = Object.entries(this.#shares()).map(async ([name, share]) => {
      const door = DOORS[name];
      if (door === undefined) throw new Error(`no door ${name}`);
      const count = Math.ceil((messages * share) / 100 / BATCH);
      for (let batch = firstBatch; batch < firstBatch + count && this.#failed === undefined; batch += 1)
        await this.#batch(name, door, batch);
    });
    await Promise.all(flooding.map((one) => one.catch((thrown: Error) => (this.#failed ??= thrown))));
    over.abort();
    await probing;
    if (this.#failed !== undefined) throw this.#failed;
  }

  #shares(): Readonly<Record<string, number>> {
    const { only } = this.#options;
    return only === undefined ? SHARES : { [only.door]: 100 };
  }

  /** Runs one batch alone, then each of its messages alone, to find the failing one. */
  async #again(name: string, batch: number): Promise<void> {
    const door = DOORS[name];
    if (door === undefined) throw new Error(`no door ${name}`);
    for (const message of this.#messages(name, door, batch, 'fuzz0').messages)
      await this.#exchange({ name, door, batch, tag: 'fuzz0' }, [message], new Random(1));
    await this.#batch(name, door, batch);
  }

  #messages(name: string, door: Door, batch: number, tag: string) {
    const random = new Random(seedFor(this.#options.seed, name, batch));
    const messages = Array.from({ length: BATCH - 1 }, () => door.message(random, tag, this.#pod));
    const last =
      door.last !== undefined && random.chance(0.15) ? door.last(random, tag, this.#pod) : undefined;
    return { random, messages, last };
  }

  async #batch(name: string, door: Door, batch: number): Promise<void> {
    this.#batches += 1;
    if (this.#batches % (BATCHES_PER_POD * Object.keys(SHARES).length) === 0) await this.#replacePod();
    const tag = this.#newTag();
    const { random, messages, last } = this.#messages(name, door, batch, tag);
    await this.#exchange({ name, door, batch, tag }, messages, random, last);
  }

  #newTag(): string {
    this.#tags += 1;
    return tagFor(this.#tags);
  }

  async #exchange(
    { name, door, batch, tag }: Sender,
    messages: readonly Uint8Array[],
    random: Random,
    last?: Uint8Array,
  ): Promise<void> {
    const fail = (reason: string): FuzzFailure =>
      new FuzzFailure(
        reason,
        this.#options.seed,
        name,
        batch,
        last === undefined ? messages : [...messages, last],
      );
    const connection = await this.#open(door, fail);
    const seen: { problem?: string | undefined; isProbed: boolean; answers: number } = {
      isProbed: false,
      answers: 0,
    };
    const latest: string[] = [];
    // Since the last answer: on a busy machine the answers to a whole batch may take longer than each of them.
    let lastAnswerAt = Date.now();
    let wake = (): void => {};
    connection.onClose = () => wake();
    connection.onMessage = (text) => {
      this.#answers[name] = (this.#answers[name] ?? 0) + 1;
      seen.problem ??= this.#problemIn(text, door, tag);
      if (door.answers?.isAnswer(tryParse(text)) === true) seen.answers += 1;
      seen.isProbed ||= door.isProbed(text, tag);
      latest.push(text.slice(0, 300));
      if (latest.length > 5) latest.shift();
      lastAnswerAt = Date.now();
      wake();
    };
    for (const piece of pieces(
      messages.map((message) => connection.frame(message)),
      random,
    )) {
      if (connection.isClosed) break;
      await connection.send(piece);
    }
    this.#sent[name] = (this.#sent[name] ?? 0) + messages.length;
    await connection.send(connection.frame(door.probe(tag)));
    lastAnswerAt = Date.now();
    const due = door.answers?.due(
      Buffer.concat([...messages, door.probe(tag)].map((message) => connection.frame(message))),
    ) ?? { least: 0, most: Infinity };
    while (
      (!seen.isProbed || seen.answers < due.least) &&
      seen.problem === undefined &&
      !connection.isClosed
    ) {
      if (Date.now() > lastAnswerAt + ANSWER_MS)
        throw fail(
          `no answer within ${ANSWER_MS} ms of the one before, ${seen.answers} of at least ${due.least}; the last answers:\n${latest.join('\n')}\n`,
        );
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 1_000);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    if (!seen.isProbed && seen.problem === undefined && !door.mayClose)
      seen.problem = 'the daemon closed the connection';
    if (seen.isProbed && seen.answers > due.most)
      seen.problem ??= `${seen.answers} answers, at most ${due.most} are due`;
    if (!seen.isProbed) this.#closed[name] = (this.#closed[name] ?? 0) + 1;
    if (last !== undefined && !connection.isClosed) {
      await connection.send(connection.frame(last));
      this.#sent[name] = (this.#sent[name] ?? 0) + 1;
    }
    // Some disconnect in the middle of a message.
    if (random.chance(0.2))
      await connection.send(connection.frame(messages[0] ?? Buffer.alloc(1)).subarray(0, -1));
    if (random.chance(0.5)) connection.destroy();
    else {
      connection.end();
      setTimeout(() => connection.destroy(), 200);
    }
    const ended = this.target.ended();
    if (ended !== undefined) throw fail(`the daemon is gone: ${ended}`);
    if (seen.problem !== undefined) throw fail(seen.problem);
  }

  async #open(door: Door, fail: (reason: string) => FuzzFailure): Promise<Connection> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await door.open(this.target, this.#pod);
      } catch (thrown) {
        const ended = this.target.ended();
        if (ended !== undefined || attempt === TRIES)
          throw fail(`cannot connect: ${ended ?? String(thrown)}`);
        // Another batch has closed the session, or the socket of a new one does not exist yet.
        await new Promise((resolve) => setTimeout(resolve, 100));
        if (attempt === TRIES / 2) await this.#replacePod();
      }
    }
  }

  #problemIn(text: string, door: Door, tag: string): string | undefined {
    let line: unknown;
    try {
      line = JSON.parse(text);
    } catch {
      return `an answer that is not JSON: ${text.slice(0, 300)}`;
    }
    const problem = door.check(line);
    if (problem !== undefined) return `an answer outside the schema, ${problem}: ${text.slice(0, 600)}`;
    const found = door.tagOf(line as never);
    if (typeof found === 'string' && isTagged(found) && !found.startsWith(`${tag}-`))
      return `the answer to another client, ${found}: ${text.slice(0, 300)}`;
    return undefined;
  }

  /** One client per door that sends only valid messages: each is answered in time, whatever the others send. */
  async #probe(over: AbortSignal): Promise<void> {
    const probes = Object.entries(DOORS).map(async ([name, door]) => {
      if (name === 'stdio') return;
      while (!over.aborted && this.#failed === undefined) {
        const began = performance.now();
        try {
          await this.#probeOnce(door);
        } catch (thrown) {
          if (!over.aborted)
            this.#failed ??= new Error(`health of ${name}: ${String(thrown)}; ${this.target.ended() ?? ''}`);
          return;
        }
        this.#slowest[name] = Math.max(this.#slowest[name] ?? 0, Math.round(performance.now() - began));
        await new Promise((resolve) => setTimeout(resolve, 300));
      }
    });
    await Promise.all(probes);
  }

  async #probeOnce(door: Door): Promise<void> {
    for (let attempt = 0; ; attempt += 1) {
      const tag = this.#newTag();
      const connection = await this.#open(
        door,
        (reason) => new FuzzFailure(reason, this.#options.seed, door.name, -1, []),
      );
      const isAnswered = await new Promise<boolean>((resolve) => {
        const timer = setTimeout(() => resolve(false), ANSWER_MS);
        const settle = (answered: boolean): void => {
          clearTimeout(timer);
          resolve(answered);
        };
        connection.onMessage = (text) => {
          if (door.isProbed(text, tag)) settle(true);
        };
        connection.onClose = () => settle(false);
        void connection.send(connection.frame(door.probe(tag)));
      });
      const wasClosed = connection.isClosed;
      connection.destroy();
      if (isAnswered) return;
      // Another batch may have closed its session.
      if (!wasClosed || attempt === 3)
        throw new Error(wasClosed ? 'closed again and again' : `no answer within ${ANSWER_MS} ms`);
    }
  }

  async #control(method: string, params: object): Promise<Record<string, unknown>> {
    const client = await LineClient.unix(this.target.control);
    try {
      client.send(`${JSON.stringify({ method, params })}\n`);
      const { result, error } = await client.waitFor(
        (line) => 'result' in line || 'error' in line,
        ANSWER_MS,
      );
      if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
      return result as Record<string, unknown>;
    } finally {
      client.close();
    }
  }

  #replacePod(): Promise<void> {
    this.#replacing ??= this.#makePod().finally(() => {
      this.#replacing = undefined;
    });
    return this.#replacing;
  }

  /** Creates the pod for all new connections, and removes all others. */
  async #makePod(): Promise<void> {
    const { id } = await this.#control('new', { cwd: this.target.project });
    const socket = this.target.pod.replace(this.target.podId, String(id));
    this.#pod = { id: String(id), socket, project: this.target.project };
    await this.#remove((other) => other !== id);
  }

  /** Removes all sessions, so that only unowned memory of the daemon remains. */
  async #clean(): Promise<void> {
    await this.#replacePod();
    const deadline = Date.now() + ANSWER_MS;
    while ((await this.#metric('polypod_pods')) > FEW_PODS && Date.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, 200));
    this.#options.onProgress?.(`sent ${JSON.stringify(this.#sent)}`);
  }

  async #remove(which: (id: string) => boolean): Promise<void> {
    const { sessions } = await this.#control('ls', {});
    // A busy session stays until the next time.
    for (const { id } of sessions as readonly { id: string }[])
      if (which(id)) await this.#control('rm', { pod: id }).catch(() => {});
  }

  async #metric(name: string): Promise<number> {
    const { text } = await this.#control('metrics', {});
    return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(String(text))?.[1]);
  }
}

/** With a checksum: a damaged message must not look like another client's. */
function tagFor(count: number): string {
  return `fuzz${count}x${(count * 7_919) % 99_991}`;
}

/** Returns whether a text is the tag of some connection, followed by a dash. */
function isTagged(text: string): boolean {
  const [, count] = /^fuzz(\d+)x\d+-/.exec(text) ?? [];
  return count !== undefined && text.startsWith(`${tagFor(Number(count))}-`);
}

/** Returns the bytes of all messages, merged and split at random. */
function* pieces(frames: readonly Uint8Array[], random: Random): Generator<Uint8Array> {
  for (let at = 0; at < frames.length; ) {
    const count = 1 + random.below(30);
    const bytes = Buffer.concat(frames.slice(at, at + count));
    at += count;
    if (random.chance(0.7)) {
      yield bytes;
      continue;
    }
    for (let from = 0; from < bytes.length; ) {
      const to = Math.min(bytes.length, from + 1 + random.below(Math.max(64, bytes.length / 3)));
      yield bytes.subarray(from, to);
      from = to;
    }
  }
}

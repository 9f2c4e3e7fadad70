import { lstatSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PodClient, type PodLine } from '../../../src/client/index.ts';
import { type Sim, startSim } from '../../../src/sim/index.ts';
import { scratch } from '../../pod/fixture.ts';
import { hostileLine, randomFrom } from './hostile.ts';
import { compiledServer, Served } from './served.ts';
import type { ServerOptions } from './serving-child.ts';

const SEED = Number(process.env.POLYPOD_SEED ?? Date.now() % 1_000_000);
const CLIENTS = 20;
const KILLS = 3;
const LINES = 5_000;
/** 2 KB per line; an agent without a leak grows by a tenth of this. */
const MARGIN = 10 * 1024 * 1024;

const program = compiledServer();

describe('a process that serves a pod', () => {
  it('creates a private socket whatever the umask; the next process replaces the socket of a killed one', async () => {
    const options = await serverOptions(await sim());
    const first = await Served.start(program, options);
    const { path, podId } = first.ready;
    const modes = () => [path, dirname(path)].map((each) => (lstatSync(each).mode & 0o777).toString(8));
    expect(modes()).toEqual(['600', '700']);
    await first.kill();
    expect(lstatSync(path).isSocket()).toBe(true);
    const second = await Served.start(program, { ...options, podId });
    const client = await PodClient.open({ path });
    expect(await client.status()).toMatchObject({ state: 'idle', session_id: podId });
    await client.close();
    expect(await second.end()).toBe(0);
    expect(lstatSync(path, { throwIfNoEntry: false })).toBeUndefined();
  });

  it(`killed ${KILLS} times while ${CLIENTS} clients stream: each joins to the log`, {
    timeout: 120_000,
  }, async () => {
    const random = randomFrom(SEED);
    const options = await serverOptions(await sim());
    let served = await Served.start(program, options);
    const { path, podId } = served.ready;
    const watchers = await Promise.all(Array.from({ length: CLIENTS }, () => Watcher.open(path)));
    const [first] = watchers;
    if (first === undefined) throw new Error('nobody watches');
    for (let kill = 0; kill < KILLS; kill += 1) {
      await first.client.run(PROMPT);
      // At a random point of a run.
      await first.received(first.lines.length + 20 + random(200));
      await served.kill();
      served = await Served.start(program, { ...options, podId });
    }
    await first.run();
    const fresh = await Watcher.open(path);
    const { seq: last } = first.lines.at(-1) ?? {};
    await Promise.all([fresh, ...watchers].map((watcher) => watcher.reached(last ?? 0)));
    const log = fresh.lines;
    expect(log.filter(({ event }) => event === 'recovered').length).toBe(KILLS);
    expect(log.filter(({ event }) => event === 'turn_start').length).toBe(
      log.filter(({ event }) => event === 'turn_end').length,
    );
    for (const watcher of watchers) {
      // A kill can come before a client has reconnected after the last one.
      expect(watcher.losses).toBeGreaterThan(0);
      expect(watcher.lines, `seed ${SEED}`).toEqual(log);
    }
    console.log(
      `resume over sockets: ${CLIENTS} clients, ${KILLS} kills, ${log.length} lines each (seed ${SEED})`,
    );
  });

  it(`lives through ${LINES} hostile lines; its memory is flat and another client's stream complete`, {
    timeout: 120_000,
  }, async () => {
    const random = randomFrom(SEED);
    const served = await Served.start(program, await serverOptions(await sim()));
    const { path } = served.ready;
    const otherClient = await Watcher.open(path);
    const round = async (lines: number): Promise<number> => {
      const streaming = keepRunning(otherClient);
      await storm(path, lines, random);
      return streaming.stop();
    };
    // Growth during warm-up is not a leak.
    await round(LINES / 5);
    const before = await served.memory();
    const runs = await round(LINES);
    const growth = (await served.memory()) - before;
    expect(served.isAlive).toBe(true);
    const fresh = await Watcher.open(path);
    await fresh.reached(otherClient.lines.at(-1)?.seq ?? 0);
    expect(otherClient.lines, `seed ${SEED}`).toEqual(fresh.lines);
    expect(otherClient.losses).toBe(0);
    expect(growth).toBeLessThan(MARGIN);
    console.log(
      `hostile: ${LINES} lines, ${runs} runs beside them, ${(growth / 1024 / 1024).toFixed(1)} MB more (seed ${SEED})`,
    );
  });
});

const PROMPT = 'go\n[[sim deltas=300 size=5 delay=1]]';

async function sim(): Promise<Sim> {
  const started = await startSim({ script: () => ({ parts: [{ text: 'ok' }] }) });
  onTestFinished(() => started.close());
  return started;
}

async function serverOptions({ url }: Sim): Promise<ServerOptions> {
  return { directory: join(scratch(), 'data'), sockets: join(scratch(), 'run'), cwd: scratch(), url };
}

/** A client with all numbered lines that it received, over all its connections. */
class Watcher {
  readonly client: PodClient;
  readonly lines: PodLine[] = [];
  losses = 0;
  #wake = (): void => {};

  static async open(path: string): Promise<Watcher> {
    const watching: { watcher?: Watcher } = {};
    const client = await PodClient.open({
      path,
      after: 0,
      backoff: { firstMs: 5, maxMs: 50 },
      onConnection: (state) => {
        if (state === 'lost' && watching.watcher !== undefined) watching.watcher.losses += 1;
      },
    });
    watching.watcher = new Watcher(client);
    onTestFinished(() => client.close());
    return watching.watcher;
  }

  private constructor(client: PodClient) {
    this.client = client;
    void this.#read();
  }

  received(count: number): Promise<void> {
    return this.#until(() => this.lines.length >= count);
  }

  reached(seq: number): Promise<void> {
    return this.#until(() => (this.lines.at(-1)?.seq ?? 0) >= seq);
  }

  /** Runs a prompt until the pod is idle again. */
  async run(): Promise<void> {
    const runId = await this.client.run(PROMPT);
    const isOver = ({ event, data }: PodLine) => event === 'run_end' && data.run_id === runId;
    await this.#until(() => this.lines.slice(-2).some(isOver) && isIdle(this.lines.at(-1)));
  }

  async #until(holds: () => boolean): Promise<void> {
    while (!holds())
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
  }

  async #read(): Promise<void> {
    for await (const line of this.client.events()) {
      // Answers that are broadcast are not part of the log.
      if (line.seq === undefined) continue;
      this.lines.push(line);
      this.#wake();
    }
  }
}

/** Starts one run after the other until it is stopped. */
function keepRunning(watcher: Watcher): { readonly stop: () => Promise<number> } {
  const over = new AbortController();
  const running = (async () => {
    let runs = 0;
    for (; !over.signal.aborted; runs += 1) await watcher.run();
    return runs;
  })();
  const stop = (): Promise<number> => {
    over.abort();
    return running;
  };
  return { stop };
}

/** Sends many lines over many connections, some of which end within a line or never read. */
async function storm(path: string, count: number, random: (below: number) => number): Promise<void> {
  let sent = 0;
  while (sent < count) {
    const socket = connect(path);
    await new Promise<void>((resolve) => socket.once('connect', resolve));
    socket.on('error', () => {});
    const reads = random(5) > 0;
    if (reads) socket.resume();
    const lines = Math.min(count - sent, 1 + random(400));
    for (let line = 0; line < lines && socket.writable; line += 1) {
      socket.write(hostileLine(random));
      if (line < lines - 1 || random(2) === 0) socket.write('\n');
      // The server stops reading from a client that does not read.
      if (reads && socket.writableNeedDrain) await settled(socket, 'drain');
    }
    sent += lines;
    await ended(socket, reads ? random(3) : random(2));
  }
}

async function ended(socket: Socket, how: number): Promise<void> {
  if (how === 0) socket.destroy();
  else if (how === 1) socket.end();
  // An answer proves that the input was read, so the last line requests one.
  else if (socket.writable) {
    socket.end('\n{"method":"get_status","request_id":"last"}\n');
    await settled(socket, 'data');
  }
  socket.destroy();
}

/** Waits for the event, or until the socket is closed. */
function settled(socket: Socket, event: 'drain' | 'data'): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      socket.off(event, done);
      socket.off('close', done);
      resolve();
    };
    if (socket.destroyed) return done();
    socket.on(event, done);
    socket.on('close', done);
  });
}

function isIdle(line: PodLine | undefined): boolean {
  return line?.event === 'status' && line.data.state === 'idle';
}

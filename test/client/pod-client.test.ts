import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PodClient, type PodClientOptions, type PodLine } from '../../src/client/index.ts';
import type { SimAnswer } from '../../src/sim/index.ts';
import { scratch } from '../pod/fixture.ts';
import { DEFAULT_DUPLEX, serveDuplex } from '../../src/protocols/pod/index.ts';
import { listenUnix } from '../../src/wire/index.ts';
import { podFixture } from '../protocols/pod/fixture.ts';

const HELLO: SimAnswer = { parts: [{ text: 'Hello.' }] };
const TOUCH: SimAnswer = { parts: [{ toolCall: { name: 'bash', arguments: { command: 'touch new' } } }] };

async function opened(options: PodClientOptions): Promise<PodClient> {
  const client = await PodClient.open({ backoff: { firstMs: 1, maxMs: 10 }, ...options });
  onTestFinished(() => client.close());
  return client;
}

/** All events up to the first match. */
async function until(
  events: AsyncGenerator<PodLine>,
  matches: (line: PodLine) => boolean,
): Promise<readonly PodLine[]> {
  const lines: PodLine[] = [];
  for (;;) {
    const { value, done } = await events.next();
    if (done === true) return lines;
    lines.push(value);
    if (matches(value)) return lines;
  }
}

const isIdle = ({ event, data }: PodLine): boolean => event === 'status' && data.state === 'idle';

describe('a client', () => {
  it('receives a snapshot, runs a prompt and receives its events to the end', async () => {
    const { path, pod } = await podFixture([HELLO]);
    const client = await opened({ path, name: 'ada' });
    const events = client.events();
    const runId = await client.run('Hello?');
    const lines = await until(events, isIdle);
    expect(lines[0]).toMatchObject({ event: 'snapshot', data: { reason: 'joined', session_id: pod.id } });
    expect(lines.find(({ event }) => event === 'user_message')?.data).toMatchObject({
      text: 'Hello?',
      by: 'ada',
    });
    expect(lines.find(({ event }) => event === 'run_end')?.data).toMatchObject({
      run_id: runId,
      result: 'finished',
    });
    expect((await client.history()).length).toBe(2);
    expect(await client.status()).toMatchObject({ state: 'idle', detail: 'idle' });
  });

  it('decides, pauses, resumes, steers and cancels', async () => {
    const { path } = await podFixture([TOUCH, HELLO]);
    const client = await opened({ path });
    const events = client.events();
    await client.run('Make a file.');
    const approvalRequest = (await until(events, ({ event }) => event === 'approval_request')).at(-1);
    await client.steer('Or not.');
    await client.pause();
    if (approvalRequest?.event !== 'approval_request') throw new Error('no approval was requested');
    await client.decide(approvalRequest.data.approval_id, 'deny', { comment: 'no' });
    await until(events, (line) => line.event === 'status' && line.data.detail === 'paused');
    await client.resume();
    const rest = await until(events, isIdle);
    expect(rest.find(({ event }) => event === 'tool_result')?.data).toMatchObject({
      output: 'client denied this call: no',
    });
    await expect(client.cancel()).rejects.toMatchObject({
      code: 'conflict',
      message: 'there is no run to cancel',
    });
    await expect(client.call('rum')).rejects.toMatchObject({ code: 'bad-request' });
  });

  it('gives up with the reason if the pod refuses the connection', async () => {
    const path = join(scratch(), 'run', 'broken.sock');
    const line = { event: 'error', data: { code: 'internal', message: 'the session file is damaged' } };
    const server = await listenUnix(path, (socket) => void socket.end(`${JSON.stringify(line)}\n`));
    onTestFinished(() => void server.close());
    const client = await opened({ path, attempts: 2 });
    await expect(client.events().next()).rejects.toMatchObject({
      code: 'internal',
      message: `the pod on ${path} cannot be served, after 2 attempts: the session file is damaged`,
    });
  });

  it('ends with an error if the pod sends a line that is too long', async () => {
    const path = join(scratch(), 'run', 'endless.sock');
    const server = await listenUnix(path, (socket) => {
      socket.on('error', () => {});
      socket.end(Buffer.alloc(64 * 1024 * 1024 + 1, 'x'));
    });
    onTestFinished(() => void server.close());
    const client = await opened({ path });
    await expect(client.events().next()).rejects.toThrow('a line is longer than 67108864 characters');
  });

  it('closes its first connection if it is aborted before it is used', async () => {
    const path = join(scratch(), 'run', 'quiet.sock');
    let onEnd = (): void => {};
    const ended = new Promise<void>((resolve) => {
      onEnd = resolve;
    });
    const server = await listenUnix(path, (socket) => {
      socket.on('end', () => {
        socket.destroy();
        onEnd();
      });
      socket.resume();
    });
    onTestFinished(() => void server.close());
    const client = await opened({ path, signal: AbortSignal.abort() });
    expect(await client.events().next()).toEqual({ value: undefined, done: true });
    await ended;
  });

  it('reports a refused connection', async () => {
    await expect(PodClient.open({ path: join(scratch(), 'none.sock') })).rejects.toMatchObject({
      code: 'not-found',
      message: expect.stringContaining('cannot connect to') as string,
    });
  });

  it('gives up after the configured number of attempts', async () => {
    const { path, sockets } = await podFixture([]);
    const client = await opened({ path, attempts: 2 });
    const events = client.events();
    await events.next();
    await sockets.closeAll();
    await expect(events.next()).rejects.toThrow(`cannot reconnect to ${path}: 2 attempts failed`);
    await expect(client.status()).rejects.toThrow('the client is closed');
  });

  it('ends its event streams and calls when it is closed', async () => {
    const { path } = await podFixture([]);
    const client = await opened({ path });
    const events = client.events();
    await events.next();
    const next = events.next();
    await client.close();
    expect(await next).toEqual({ value: undefined, done: true });
    await expect(client.run('Hello?')).rejects.toThrow('the client is closed');
    await expect(client.events().next()).rejects.toThrow('one reader per client');
  });

  it('reconnects when the connection breaks: delivers each event once and performs each call once', async () => {
    const answer: SimAnswer = {
      parts: [{ text: 'z'.repeat(2_000) }],
      pace: { chunkSize: 4, batch: 3, delayMs: 1 },
    };
    const { path } = await podFixture([answer, answer]);
    // Breaks every connection after some bytes, at any point.
    const breaking = await breakingRelay(path);
    const losses: string[] = [];
    const client = await opened({
      path: breaking.path,
      after: 1,
      onConnection: (state) => losses.push(state),
    });
    const events = client.events();
    const runId = await client.run('Many words.');
    const lines = await until(events, isIdle);
    expect(breaking.broken()).toBeGreaterThan(5);
    expect(losses.filter((state) => state === 'lost').length).toBeGreaterThan(3);
    const observer = await opened({ path, after: 1 });
    expect(lines).toEqual(await until(observer.events(), isIdle));
    expect(lines.filter(({ event }) => event === 'run_start').map(({ data }) => data)).toMatchObject([
      { run_id: runId },
    ]);
  });

  it('receives a snapshot if the missed events are no longer retained', async () => {
    const { path } = await podFixture([HELLO]);
    const client = await opened({ path, after: 999 });
    const { value } = await client.events().next();
    expect(value).toMatchObject({ event: 'snapshot', data: { reason: 'gap' }, seq: 1 });
    expect(client.after).toBe(1);
  });
});

describe("with the daemon's socket", () => {
  it('attaches to a pod by name first, and fails immediately if there is none', async () => {
    const { door, pod } = await podFixture([HELLO]);
    const path = join(scratch(), 'daemon.sock');
    // Like the daemon: the first line names the pod, and the rest goes to the pod.
    const server = await listenUnix(path, (socket) => {
      socket.once('data', (bytes: Buffer) => {
        socket.pause();
        const end = bytes.indexOf('\n');
        const isMine =
          bytes.subarray(0, end).toString() === '{"method":"attach","params":{"pod":"hello-pod"}}';
        if (isMine) void serveDuplex(door, pod, socket, DEFAULT_DUPLEX, bytes.subarray(end + 1));
        else socket.end('{"error":{"code":"not-found","message":"there is no pod \\"other\\""}}\n');
      });
    });
    onTestFinished(() => {
      server.close();
    });
    const client = await opened({ path, pod: 'hello-pod' });
    const events = client.events();
    await client.run('Hello?');
    expect((await until(events, isIdle)).map(({ event }) => event)).toContain('text_done');
    const lost = await opened({ path, pod: 'other' });
    await expect(lost.events().next()).rejects.toMatchObject({
      code: 'not-found',
      message: 'there is no pod "other"',
    });
  });
});

interface Breaking {
  readonly path: string;
  readonly broken: () => number;
}

/** A relay whose connections break after a growing number of bytes. */
async function breakingRelay(to: string): Promise<Breaking> {
  const path = join(scratch(), 'relay.sock');
  let broken = 0;
  const server: Server = createServer((socket: Socket) => {
    const target = connect(to);
    let left = 700 + broken * 997;
    const end = (): void => {
      socket.destroy();
      target.destroy();
    };
    socket.on('error', end).on('close', end);
    target.on('error', end).on('close', end);
    socket.pipe(target);
    target.on('data', (bytes: Buffer) => {
      socket.write(bytes.subarray(0, left));
      left -= bytes.length;
      if (left > 0) return;
      broken += 1;
      socket.end(end);
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  onTestFinished(() => {
    server.close();
  });
  return { path, broken: () => broken };
}

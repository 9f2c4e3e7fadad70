import { once } from 'node:events';
import { lstatSync, readlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { SimAnswer } from '../../../src/sim/index.ts';
import { isState, podFixture, SocketClient, eventData } from './fixture.ts';

const HELLO: SimAnswer = { parts: [{ text: 'Hello.' }] };

/** Connects and closes both directions without sending anything. */
async function closedAtOnce(path: string): Promise<void> {
  const socket = connect(path);
  await once(socket, 'connect');
  socket.destroy();
}

describe("a pod's socket", () => {
  it('is accessible only to its user', async () => {
    const { path } = await podFixture([]);
    expect((lstatSync(path).mode & 0o777).toString(8)).toBe('600');
    expect((lstatSync(dirname(path)).mode & 0o777).toString(8)).toBe('700');
  });

  it('is also reachable by the name of the pod, while it has that name', async () => {
    const { sockets, pod, path } = await podFixture([]);
    const byName = join(dirname(path), 'my pod.sock');
    await sockets.name(pod.id, 'my pod');
    expect(readlinkSync(byName)).toBe(`${pod.id}.sock`);
    await SocketClient.connect(byName);
    await sockets.name(pod.id, '../no file');
    expect(lstatSync(byName, { throwIfNoEntry: false })).toBeUndefined();
    await sockets.name(pod.id, 'again');
    await sockets.close(pod.id);
    expect(lstatSync(join(dirname(path), 'again.sock'), { throwIfNoEntry: false })).toBeUndefined();
    expect(lstatSync(path, { throwIfNoEntry: false })).toBeUndefined();
  });

  it('sends all clients the same events, not only the client that sent the request', async () => {
    const fixture = await podFixture([HELLO]);
    const clients = await Promise.all([
      fixture.socketClient(),
      fixture.socketClient(),
      fixture.processClient(),
    ]);
    await clients[0]?.sendRequest('run', { input: 'Hello?' });
    await Promise.all(clients.map((client) => client.waitFor(isState('idle'))));
    expect(clients[1]?.received).toEqual(clients[0]?.received);
    expect(clients[2]?.received).toEqual(clients[0]?.received);
    expect(clients[0]?.received.length).toBeGreaterThan(5);
  });

  it('does not affect a run when its client disconnects', async () => {
    const fixture = await podFixture([HELLO]);
    const [first, second] = [await fixture.socketClient(), await fixture.socketClient()];
    await first.sendRequest('run', { input: 'Hello?' });
    await first.waitFor(isState('running'));
    first.close();
    expect((await second.waitFor(({ event }) => event === 'text_done')).data).toEqual({ text: 'Hello.' });
    await second.waitFor(isState('idle'));
  });

  it('releases clients that close without sending anything at once, so that the pod can be unloaded', async () => {
    const fixture = await podFixture([], { hibernateAfterMs: 1 });
    await Promise.all(Array.from({ length: 50 }, () => closedAtOnce(fixture.path)));
    await expect.poll(() => fixture.door.links).toBe(0);
    await expect.poll(() => fixture.host.usage.pods).toBe(0);
    // Also while another client is connected.
    const other = await fixture.socketClient();
    await Promise.all(Array.from({ length: 50 }, () => closedAtOnce(fixture.path)));
    await expect.poll(() => fixture.door.links).toBe(1);
    await other.sendRequest('get_status');
    await other.waitFor(isState('idle'));
  });

  it('releases a client that only received events, once it closes', async () => {
    const fixture = await podFixture([], { hibernateAfterMs: 1 });
    const socket = connect({ path: fixture.path, allowHalfOpen: true });
    const reader = new SocketClient(socket);
    socket.end();
    const asked = await fixture.socketClient();
    await asked.sendRequest('get_status');
    await reader.waitFor(isState('idle'));
    asked.close();
    await expect.poll(() => fixture.door.links).toBe(1);
    reader.close();
    await expect.poll(() => fixture.door.links).toBe(0);
    await expect.poll(() => fixture.host.usage.pods).toBe(0);
  });

  it('is removed when an idle pod without clients is unloaded', async () => {
    const fixture = await podFixture([HELLO], { hibernateAfterMs: 1 });
    const client = await fixture.socketClient();
    expect(fixture.host.usage.pods).toBe(1);
    client.close();
    await expect.poll(() => fixture.host.usage.pods).toBe(0);
    // A connection loads it again.
    const back = await fixture.socketClient();
    await back.sendRequest('run', { input: 'Hello?' });
    await back.waitFor(isState('idle'));
  });

  it('ends with the pod, with the reason', async () => {
    const fixture = await podFixture([]);
    const client = await fixture.socketClient();
    await client.sendRequest('subscribe', { after: 1 });
    await client.sendRequest('close');
    await client.closed;
    expect(eventData(client.received)).toEqual([
      ['subscribed', { after: 1 }],
      ['closed', { by: 'client', door: 'pod' }],
    ]);
  });
});

describe('a client that has ended its input', () => {
  it('receives the events of its run to the end, and is then closed', async () => {
    const fixture = await podFixture([HELLO]);
    const client = await fixture.socketClient();
    client.socket.end('{"method":"run","params":{"input":"Hello?"}}\n');
    await client.closed;
    expect(client.received.map(({ event }) => event)).toContain('text_done');
    expect(client.received.at(-1)).toMatchObject({ event: 'status', data: { state: 'idle' } });
  });

  it('also receives the events of its queued prompts', async () => {
    const fixture = await podFixture([{ parts: [{ text: 'First.' }] }, { parts: [{ text: 'Second.' }] }]);
    const client = await fixture.socketClient();
    client.socket.end(
      '{"method":"run","params":{"input":"One"}}\n{"method":"run","params":{"input":"Two","when_busy":"queue"}}\n',
    );
    await client.closed;
    const texts = client.received.flatMap(({ event, data }) => (event === 'text_done' ? [data] : []));
    expect(texts).toEqual([{ text: 'First.' }, { text: 'Second.' }]);
    expect(client.received.at(-1)).toMatchObject({ event: 'status', data: { state: 'idle' } });
  });

  it('is closed when its queued prompt was removed', async () => {
    const fixture = await podFixture([{ parts: [{ text: 'First.' }] }]);
    const [client, other] = [await fixture.socketClient(), await fixture.socketClient()];
    await other.sendRequest('subscribe');
    client.socket.end(
      '{"method":"run","params":{"input":"One"}}\n{"method":"run","params":{"input":"Two","when_busy":"queue"}}\n{"method":"clear_queue"}\n',
    );
    await client.closed;
    expect(client.received.filter(({ event }) => event === 'text_done')).toHaveLength(1);
  });

  it('needs no newline at the end of its input', async () => {
    const fixture = await podFixture([]);
    const client = await fixture.socketClient();
    client.socket.end('{"method":"get_history"}');
    await client.closed;
    expect(eventData(client.received)).toEqual([['history', { items: [] }]]);
  });

  it('is closed even if its input was invalid', async () => {
    const fixture = await podFixture([]);
    const client = await fixture.socketClient();
    client.socket.end(Buffer.from([0xff, 0x0a]));
    await client.closed;
    expect(eventData(client.received)).toEqual([
      ['error', { code: 'internal', message: 'a line is not UTF-8' }],
    ]);
  });

  it('stays if it has sent no request', async () => {
    const fixture = await podFixture([HELLO]);
    const socket = connect({ path: fixture.path, allowHalfOpen: true });
    const silent = new SocketClient(socket);
    socket.end();
    const subscriber = await fixture.socketClient();
    subscriber.socket.end('{"method":"subscribe"}\n');
    await subscriber.waitFor(({ event }) => event === 'snapshot');
    const other = await fixture.socketClient();
    await other.sendRequest('run', { input: 'Hello?' });
    await Promise.all([silent, subscriber].map((client) => client.waitFor(isState('idle'))));
    silent.close();
  });
});

describe("an error in a client's input", () => {
  it('is sent to that client alone: invalid UTF-8', async () => {
    const fixture = await podFixture([]);
    const [client, other] = [await fixture.socketClient(), await fixture.socketClient()];
    await client.send(Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]));
    await client.sendRequest('get_status', undefined, { request_id: 1 });
    await client.waitFor(({ request_id: id }) => id === 1);
    expect(eventData(client.received)[0]).toEqual([
      'error',
      { code: 'internal', message: 'a line is not UTF-8' },
    ]);
    expect(other.received).toEqual([]);
  });

  it('closes the connection with the reason if a line has no end', async () => {
    const fixture = await podFixture([HELLO], { duplex: { lineBytes: 1_000 } });
    const [client, other] = [await fixture.socketClient(), await fixture.socketClient()];
    client.socket.write('x'.repeat(100_000));
    await client.closed;
    expect(eventData(client.received)).toEqual([
      ['error', { code: 'internal', message: 'a line is longer than 1000 bytes' }],
    ]);
    await other.sendRequest('run', { input: 'Hello?' });
    await other.waitFor(isState('idle'));
    expect(other.received.map(({ event }) => event)).not.toContain('error');
  });

  it('has a specific code with the extras', async () => {
    const fixture = await podFixture([]);
    const client = await fixture.socketClient();
    await client.sendRequest('subscribe', { after: 1 });
    await client.send('[]');
    await client.sendRequest('decide', { approval_id: 'none', decision: 'approve' });
    await client.sendRequest('branch', { entry_id: 'none' });
    await client.sendRequest('configure', { set: { accept_edits: 'yes' } });
    await client.waitFor(() => client.received.length === 5);
    expect(
      client.received.slice(1).map((line) => (line.event === 'error' ? line.data.code : line.event)),
    ).toEqual(['invalid_request', 'not_found', 'not_found', 'invalid_request']);
  });
});

describe('a client that does not read', () => {
  it('is disconnected with the number to resume after, and no other client is affected', async () => {
    const words: SimAnswer = {
      parts: [{ text: 'y'.repeat(3_000_000) }],
      pace: { chunkSize: 3_000, batch: 5, delayMs: 1 },
    };
    // The run may take longer than clients usually have to read the reason.
    const fixture = await podFixture([words], { duplex: { pendingBytes: 200_000, lingerMs: 600_000 } });
    const [slow, quick] = [await fixture.socketClient(), await fixture.socketClient()];
    slow.socket.pause();
    await quick.sendRequest('run', { input: 'Many words.' });
    await quick.waitFor(isState('idle'));
    const texts = quick.received.flatMap((line) => (line.event === 'text_delta' ? line.data.text : []));
    expect(texts.join('').length).toBe(3_000_000);
    // It receives the bytes in transit, the reason and the end.
    slow.socket.resume();
    await slow.closed;
    const last = slow.received.at(-1);
    expect(last).toMatchObject({ event: 'error', data: { code: 'internal' } });
    expect(slow.received.length).toBeLessThan(quick.received.length);
    const resumeAfter = last?.event === 'error' ? (last.data.resume_after ?? 0) : 0;
    const back = await fixture.socketClient();
    await back.sendRequest('subscribe', { after: resumeAfter });
    await back.waitFor(isState('idle'));
    const joined = [...slow.received, ...back.received].filter(({ event }) => event === 'text_delta');
    expect(eventData([...new Map(joined.map((line) => [line.seq, line])).values()])).toEqual(
      eventData(quick.received.filter(({ event }) => event === 'text_delta')),
    );
  });

  it('is destroyed if it does not read the end either', async () => {
    const words: SimAnswer = {
      parts: [{ text: 'y'.repeat(1_000_000) }],
      pace: { chunkSize: 3_000, batch: 5, delayMs: 1 },
    };
    const fixture = await podFixture([words], { duplex: { pendingBytes: 1_000, lingerMs: 1 } });
    const [slow, quick] = [await fixture.socketClient(), await fixture.socketClient()];
    slow.socket.pause();
    await quick.sendRequest('run', { input: 'Many words.' });
    await quick.waitFor(isState('idle'));
    slow.socket.resume();
    await slow.closed;
    expect(slow.received.length).toBeLessThan(quick.received.length);
  });
});

describe('a broadcast', () => {
  it('encodes an event once for all clients of a kind', async () => {
    const fixture = await podFixture([HELLO]);
    const taken: Buffer[][] = [[], []];
    for (const bytes of taken) {
      const receiver = {
        take: (lines: { readonly bytes: Buffer }) => bytes.push(lines.bytes),
        pending: () => 0,
        drained: () => Promise.resolve(),
        close: () => {},
      };
      await fixture.door.open(fixture.pod, receiver, { by: 'test', pendingBytes: 0 });
    }
    const client = await fixture.socketClient();
    await client.sendRequest('run', { input: 'Hello?' });
    await client.waitFor(isState('idle'));
    expect(taken[0]?.length).toBeGreaterThan(0);
    expect(taken[0]?.every((bytes, at) => bytes === taken[1]?.[at])).toBe(true);
  });
});

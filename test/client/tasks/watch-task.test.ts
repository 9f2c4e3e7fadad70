import { createServer, type RequestListener } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/base/index.ts';
import {
  type TaskEvent,
  TasksClient,
  type TasksClientOptions,
  type WatchUpdate,
  type WatchOptions,
  watchTask,
} from '../../../src/client/index.ts';
import { generatedText } from '../../../src/sim/index.ts';
import { createHttpTransport, type TlsTrust } from '../../../src/wire/index.ts';
import { selfSigned } from '../../protocols/tasks/certificate.ts';
import { textAnswer, STALLS, tasksFixture } from '../../protocols/tasks/fixture.ts';
import { cuttingProxy } from './cutting-proxy.ts';

const LONG = { parts: [{ text: generatedText(400) }], pace: { chunkSize: 4 } };
const SOON = { firstMs: 1, maxMs: 5 };

const taskRequest = (more: JsonObject = {}) => ({
  sessionId: 's1',
  userPrompt: 'Say hello.',
  taskType: 'chat',
  ...more,
});

function clientOf(options: TasksClientOptions): TasksClient {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  return new TasksClient({ backoff: SOON, signal: stop.signal, ...options });
}

async function watched(client: TasksClient, taskId: string, options: WatchOptions = {}) {
  const all: WatchUpdate[] = [];
  for await (const one of watchTask(client, taskId, options)) all.push(one);
  return all;
}

const eventsIn = (all: readonly WatchUpdate[]): readonly TaskEvent[] =>
  all.flatMap((one) => (one.type === 'event' && one.event.seq !== undefined ? [one.event] : []));

const typesIn = (all: readonly WatchUpdate[]) => new Set(all.map(({ type }) => type));

/** A server that is not Polypod. */
async function serverThat(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
}

/** Responds with the next status for each request, and then keeps repeating the last. */
function statuses(...rows: readonly JsonObject[]): RequestListener {
  const left = [...rows];
  return (_, response) => {
    const row = left.length > 1 ? left.shift() : left[0];
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ taskId: 't', ...row }));
  };
}

describe('watching a task', () => {
  it('delivers all events, wherever the connection breaks', async () => {
    const { door, key } = await tasksFixture([LONG]);
    const direct = clientOf({ url: door().url, key: key() });
    const { taskId } = await direct.submit(taskRequest());
    const uninterrupted = await watched(direct, taskId);
    expect(typesIn(uninterrupted)).toEqual(new Set(['event', 'status']));
    const expected = eventsIn(uninterrupted);
    expect(expected.length).toBeGreaterThan(100);
    const proxy = await cuttingProxy(() => door().port);
    const cut = clientOf({ url: proxy.url, key: key() });
    for (const seed of [1, 7, 31]) {
      // Every connection breaks.
      proxy.cut();
      // At any byte: inside headers, lines and numbers.
      proxy.cutAfter(Array.from({ length: 20 }, (_, index) => ((index + seed) * 613) % 2_000));
      const all = await watched(cut, taskId);
      expect(eventsIn(all)).toEqual(expected);
      expect(typesIn(all)).toEqual(new Set(['event', 'status', 'lost', 'back']));
      expect(all.at(-1)).toMatchObject({ type: 'status', status: { state: 'succeeded' } });
    }
  });

  it('delivers all events across a kill of the server', async () => {
    const { door, key, restart } = await tasksFixture([STALLS]);
    const proxy = await cuttingProxy(() => door().port);
    const client = clientOf({ url: proxy.url, key: key() });
    const { taskId } = await client.submit(taskRequest());
    const all: WatchUpdate[] = [];
    for await (const one of watchTask(client, taskId)) {
      all.push(one);
      if (one.type === 'event' && one.event.event === 'text_delta') {
        await restart('kill');
        proxy.cut();
      }
    }
    expect(all.at(-1)).toMatchObject({ type: 'status', status: { status: 'failed', state: 'interrupted' } });
    expect(typesIn(all)).toContain('back');
    expect(eventsIn(all)).toEqual(eventsIn(await watched(client, taskId)));
  });

  it('resumes after an id, and ends immediately if all events were received', async () => {
    const { door, key } = await tasksFixture([LONG]);
    const client = clientOf({ url: door().url, key: key() });
    const { taskId } = await client.submit(taskRequest());
    const all = eventsIn(await watched(client, taskId));
    const ids = all.map(({ id }) => id ?? '');
    const middle = Math.floor(ids.length / 2);
    expect(eventsIn(await watched(client, taskId, { after: ids[middle] ?? '' }))).toEqual(
      all.slice(middle + 1),
    );
    expect(await watched(client, taskId, { after: ids.at(-1) ?? '' })).toMatchObject([{ type: 'status' }]);
  });

  it('polls if the server has no streams', async () => {
    const answer = statuses(
      { status: 'pending' },
      { status: 'in_progress', progress: 40 },
      { status: 'completed', result: { text: 'Done.' } },
    );
    const url = await serverThat((request, response) => {
      if (request.url?.endsWith('/status') === true) answer(request, response);
      else response.writeHead(404).end();
    });
    const all = await watched(clientOf({ url }), 't');
    expect(all).toEqual([
      { type: 'polling', why: 'the server has no streams' },
      { type: 'status', status: { taskId: 't', status: 'pending' } },
      { type: 'status', status: { taskId: 't', status: 'in_progress', progress: 40 } },
      { type: 'status', status: { taskId: 't', status: 'completed', result: { text: 'Done.' } } },
    ]);
  });

  it.each([
    ['holds the stream back', { 'content-type': 'text/event-stream' }, 'the stream delivers no data'],
    ['sends something else', { 'content-type': 'text/html' }, 'the server sends no streams'],
  ])('polls if an intermediary %s', async (_, headers, why) => {
    const answer = statuses({ status: 'completed', result: {} });
    const url = await serverThat((request, response) => {
      if (request.url?.endsWith('/status') === true) answer(request, response);
      else response.writeHead(200, headers).flushHeaders();
    });
    const all = await watched(clientOf({ url, idleMs: 20 }), 't');
    expect(all[0]).toEqual({ type: 'polling', why });
    expect(all.at(-1)).toMatchObject({ status: { status: 'completed' } });
  });

  it('polls if no stream can be opened', async () => {
    const answer = statuses({ status: 'completed', result: {} });
    const url = await serverThat((request, response) => {
      if (request.url?.endsWith('/status') === true) answer(request, response);
    });
    const all = await watched(clientOf({ url, openMs: 20 }), 't');
    expect(all[0]).toEqual({ type: 'polling', why: 'no stream opens' });
  });

  it('gives up if the server stays unreachable', async () => {
    const { door, key } = await tasksFixture([STALLS]);
    const client = clientOf({ url: door().url, key: key() });
    const { taskId } = await client.submit(taskRequest());
    const types: string[] = [];
    const following = (async () => {
      for await (const one of watchTask(client, taskId, { giveUpAfterMs: 30 })) {
        types.push(one.type);
        if (one.type === 'event' && one.event.event === 'text_delta') await door().close();
      }
    })();
    await expect(following).rejects.toThrow('given up after');
    expect(types).toContain('lost');
  });

  it('fails with a revoked key, and without a key', async () => {
    const { door } = await tasksFixture([]);
    const client = clientOf({ url: door().url, key: 'ppk_000000000000_00000000000000000000' });
    await expect(watched(client, 'task_x')).rejects.toMatchObject({ code: 'denied' });
    await expect(watched(clientOf({ url: door().url }), 'task_x')).rejects.toThrow('a key is required');
  });

  it('stops when the reader stops, and leaves no connection open', async () => {
    const { door, key } = await tasksFixture([STALLS]);
    const client = clientOf({ url: door().url, key: key() });
    const { taskId } = await client.submit(taskRequest());
    for await (const one of watchTask(client, taskId)) if (one.type === 'event') break;
    while (Number(door().status().streams) > 0) await new Promise(setImmediate);
    expect(await client.status(taskId)).toMatchObject({ status: 'in_progress' });
  });
});

describe('submitting a task', () => {
  it('retries after a lost connection and creates one task', async () => {
    const { door, key } = await tasksFixture([textAnswer('One.')]);
    const proxy = await cuttingProxy(() => door().port);
    const client = clientOf({ url: proxy.url, key: key() });
    proxy.cutAfter([0, 10, 100]);
    const { taskId, status } = await client.submit(taskRequest());
    expect(status).toBe('accepted');
    expect(proxy.connections).toBe(4);
    expect((await client.list({})).map((listed) => listed.taskId)).toEqual([taskId]);
  });

  it('does not retry if the connection is refused', async () => {
    const { door, key } = await tasksFixture([]);
    const client = clientOf({ url: door().url, key: key() });
    await door().close();
    await expect(client.submit(taskRequest())).rejects.toMatchObject({ code: 'unreachable' });
  });

  it('accepts a trusted TLS certificate and no other', async () => {
    const tls = selfSigned();
    const { door, key } = await tasksFixture([textAnswer('One.')], { tasks: { tls } });
    const trusting = clientOf({
      url: door().url,
      key: key(),
      transport: createHttpTransport({ ca: tls.cert }),
    });
    const { taskId } = await trusting.submit(taskRequest());
    expect((await watched(trusting, taskId)).at(-1)).toMatchObject({ status: { state: 'succeeded' } });
    const other = clientOf({
      url: door().url,
      key: key(),
      transport: createHttpTransport({ ca: selfSigned().cert }),
    });
    await expect(other.status(taskId)).rejects.toThrow(
      /cannot reach https:.*(?:self-signed|verify|signature)/,
    );
  });
});

describe('a pinned certificate', () => {
  it('is accepted under any name, and no other certificate is', async () => {
    const tls = selfSigned();
    const { door, key } = await tasksFixture([], { tasks: { tls, address: '127.0.0.2' } });
    const { url } = door();
    const client = (trust: TlsTrust) => clientOf({ url, key: key(), transport: createHttpTransport(trust) });
    expect(await client({ ca: tls.cert, isPinned: true }).list({})).toEqual([]);
    await expect(client({ ca: tls.cert }).list({})).rejects.toThrow('does not match');
    await expect(client({ ca: selfSigned().cert, isPinned: true }).list({})).rejects.toThrow('cannot reach');
  });
});

describe('responses of a server that is not an agent', () => {
  it.each([
    ['text', 200, 'hello', 'is not an agent'],
    ['other JSON', 200, '{"hello":1}', 'is not an agent'],
    ['a redirection', 302, '', 'the server answered 302: it is at http://elsewhere/ now'],
    ['a bare 502', 502, '<html>', 'the server answered 502'],
  ])('%s: fails with a clear error', async (_, status, text, message) => {
    const url = await serverThat((_request, response) => {
      response.writeHead(status, { location: 'http://elsewhere/' }).end(text);
    });
    await expect(clientOf({ url }).status('t')).rejects.toThrow(message);
  });
});

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { WsClient } from '../protocols/tasks/ws-client.ts';
import { LineClient } from './line-client.ts';
import { startTarget, type Target } from './target.ts';

const deep = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;
const LIMIT = 'at most 128 levels deep';

let target: Target;
beforeAll(async () => {
  target = await startTarget({ unlimited: true });
}, 300_000);
afterAll(() => target.close());

async function lines(path: string): Promise<LineClient> {
  const client = await LineClient.unix(path);
  onTestFinished(() => client.close());
  return client;
}

async function rpcClient(): Promise<LineClient> {
  const client = await lines(target.rpc);
  client.send(`${JSON.stringify({ cwd: target.project, by: 'ada' })}\n`);
  await client.waitFor(({ type }) => type === 'ready');
  return client;
}

function webSocket(): WsClient {
  return new WsClient(target.url, [`bearer.${target.key}`, 'polypod']);
}

async function post(body: string): Promise<{ status: number; body: unknown }> {
  const answer = await fetch(`${target.url}/submit_task`, {
    method: 'POST',
    headers: { authorization: `Bearer ${target.key}`, 'content-type': 'application/json' },
    body,
  });
  return { status: answer.status, body: await answer.json() };
}

describe.each([5_000, 200_000])('a message nested %i levels deep is rejected on every door', (levels) => {
  test('WebSocket: as request_id, with the limit in the error, and the connection stays usable', async () => {
    const client = webSocket();
    await client.opened;
    client.socket.send(`{"method":"status","params":{},"request_id":${deep(levels)}}`);
    const refused = await client.waitFor(({ event }) => event === 'error');
    expect(refused.data).toMatchObject({ code: 'too_deep' });
    expect(String(refused.data.message)).toContain('at most 32 levels deep');
    expect(await client.ask('subscribe', { sessionId: 'none' })).toMatchObject({ event: 'error' });
    expect(target.ended()).toBeUndefined();
  });

  test('tasks HTTP: 400 too_deep', async () => {
    expect(
      await post(`{"sessionId":"s","userPrompt":"x","taskType":"chat","context":${deep(levels)}}`),
    ).toMatchObject({
      status: 400,
      body: { error: { code: 'too_deep' } },
    });
  });

  test('pod: an error to the sender alone, and the connection stays usable', async () => {
    const [client, other] = [await lines(target.pod), await lines(target.pod)];
    client.send(
      `{"method":"configure","params":{"set":{"annotations":{"a":${deep(levels)}}}},"request_id":"p1"}\n`,
    );
    client.send('{"method":"get_status","request_id":"p2"}\n');
    await client.waitFor(({ request_id: id }) => id === 'p2');
    expect(JSON.stringify(client.received[0])).toContain(LIMIT);
    other.send('{"method":"get_status","request_id":"o1"}\n');
    await other.waitFor(({ request_id: id }) => id === 'o1');
    expect(JSON.stringify(other.received)).not.toContain(LIMIT);
  });

  test('rpc: an error response, and the connection stays usable', async () => {
    const client = await rpcClient();
    client.send(`{"id":${deep(levels)},"type":"get_state"}\n{"id":"r2","type":"get_state"}\n`);
    await client.waitFor(({ id }) => id === 'r2');
    const refused = client.received.find(({ success }) => success === false);
    expect(refused).toMatchObject({ type: 'response', command: 'parse' });
    expect(String(refused?.error)).toContain(LIMIT);
  });

  test('hld: -32600 with id null, and the connection stays usable', async () => {
    const client = await lines(target.hld);
    client.send(
      `{"jsonrpc":"2.0","method":"health","id":${deep(levels)}}\n{"jsonrpc":"2.0","method":"health","id":2}\n`,
    );
    await client.waitFor(({ id }) => id === 2);
    expect(client.received[0]).toMatchObject({ id: null, error: { code: -32600 } });
    expect(JSON.stringify(client.received[0])).toContain(LIMIT);
  });

  test('daemon.sock: bad-request, and the connection stays usable', async () => {
    const client = await lines(target.control);
    client.send(`{"method":"status","params":{"a":${deep(levels)}}}\n{"method":"approvals"}\n`);
    await client.waitFor(({ result }) => result !== undefined);
    expect(client.received[0]).toMatchObject({ error: { code: 'bad-request' } });
    expect(JSON.stringify(client.received[0])).toContain(LIMIT);
  });
});

describe('findings of the fuzz test', () => {
  test.each(['1e999', '{"a":1}', '["a"]', 'true', `"${'x'.repeat(2_000)}"`])(
    'pod: a request_id of %s is refused, to its sender alone',
    async (id) => {
      const [client, other] = [await lines(target.pod), await lines(target.pod)];
      client.send(`{"method":"get_status","request_id":${id}}\n{"method":"get_status","request_id":2}\n`);
      other.send('{"method":"get_status","request_id":3}\n');
      await client.waitFor(({ request_id: answered }) => answered === 2);
      await other.waitFor(({ request_id: answered }) => answered === 3);
      expect(JSON.stringify(client.received[0])).toContain('request_id must be a number, or text');
      expect(other.received).toHaveLength(1);
    },
  );

  test('WebSocket: a request_id that is an object is rejected', async () => {
    const client = webSocket();
    await client.opened;
    client.socket.send('{"method":"status","params":{},"request_id":{"a":1}}');
    const { data } = await client.waitFor(({ event }) => event === 'error');
    expect(data).toMatchObject({ code: 'invalid_request', details: { field: 'request_id' } });
  });

  test('tasks HTTP: the error for a mode of 300,000 characters is short', async () => {
    const { status, body } = await post(
      `{"sessionId":"s","userPrompt":"x","taskType":"chat","context":{"permissionMode":"${'x'.repeat(300_000)}"}}`,
    );
    expect(status).toBe(400);
    expect(JSON.stringify(body).length).toBeLessThan(1_000);
  });

  test('rpc: a type that is an object with its own toString is an unknown command', async () => {
    const client = await rpcClient();
    client.send('{"id":1,"type":{"toString":1,"valueOf":2}}\n{"id":2,"type":"get_state"}\n');
    await client.waitFor(({ id }) => id === 2);
    expect(client.received.find(({ success }) => success === false)).toMatchObject({
      error: 'Unknown command: {"toString":1,"valueOf":2}',
    });
  });

  test('rpc: the error for a command of 200,000 characters is short', async () => {
    const client = await rpcClient();
    client.send(`{"type":"${'x'.repeat(200_000)}"}\n`);
    const refused = await client.waitFor(({ success }) => success === false);
    expect(JSON.stringify(refused).length).toBeLessThan(1_000);
  });

  test.each(['x'.repeat(1_000), 'a\0b', 'x'.repeat(100_000), '/proc/self/environ', ''])(
    'rpc: a switch to a session that cannot be opened (%#) keeps the present one',
    async (sessionPath) => {
      const client = await rpcClient();
      client.send('{"id":1,"type":"get_state"}\n');
      const before = await client.waitFor(({ id }) => id === 1);
      client.send(`${JSON.stringify({ id: 2, type: 'switch_session', sessionPath })}\n`);
      expect(await client.waitFor(({ id }) => id === 2)).toMatchObject({ success: false });
      client.send('{"id":3,"type":"get_state"}\n');
      const after = await client.waitFor(({ id }) => id === 3);
      expect(after.data).toEqual(before.data);
    },
  );

  test('rpc: a session file with a line nested 100,000 levels deep opens without it', async () => {
    const file = join(target.project, 'deep.jsonl');
    const header = {
      type: 'session',
      version: 3,
      id: crypto.randomUUID(),
      timestamp: new Date().toISOString(),
      cwd: target.project,
    };
    writeFileSync(
      file,
      `${JSON.stringify(header)}\n{"type":"custom","id":"abcd1234","parentId":null,"data":${deep(100_000)}}\n`,
    );
    const client = await rpcClient();
    client.send(
      `${JSON.stringify({ id: 1, type: 'switch_session', sessionPath: file })}\n{"id":2,"type":"get_messages"}\n`,
    );
    expect(await client.waitFor(({ id }) => id === 2)).toMatchObject({ type: 'response' });
    expect(target.ended()).toBeUndefined();
  });

  test('hld: a working directory with a NUL character is an invalid parameter', async () => {
    const client = await lines(target.hld);
    const params = { query: 'x', working_dir: '/tmp/\0' };
    client.send(`${JSON.stringify({ jsonrpc: '2.0', method: 'launchSession', params, id: 1 })}\n`);
    expect(await client.waitFor(({ id }) => id === 1)).toMatchObject({
      error: { code: -32602, data: { field: 'working_dir' } },
    });
  });

  test('hld: a skip_permissions duration beyond the last date never expires', async () => {
    const client = await lines(target.hld);
    const params = {
      session_id: target.podId,
      dangerously_skip_permissions: true,
      dangerously_skip_permissions_timeout_ms: Number.MAX_SAFE_INTEGER,
    };
    client.send(`${JSON.stringify({ jsonrpc: '2.0', method: 'updateSessionSettings', params, id: 1 })}\n`);
    expect(await client.waitFor(({ id }) => id === 1)).toMatchObject({ result: { success: true } });
  });

  test('daemon.sock: a million invalid items result in an error of at most 8,000 characters', async () => {
    const client = await lines(target.control);
    const params = {
      pod: target.podId,
      by: 'x',
      command: { type: 'set-todos', items: Array.from({ length: 1_000_000 }, () => 1) },
    };
    client.send(`${JSON.stringify({ method: 'command', params })}\n`);
    const { error } = await client.waitFor((line) => line.error !== undefined);
    expect(JSON.stringify(error).length).toBeLessThan(9_000);
  });
});

describe('the uncaught error handler', () => {
  test('an uncaught stack overflow is logged once and counted, and the daemon continues', async () => {
    const before = await contained();
    for (let round = 0; round < 5; round += 1) target.child.send('throw');
    target.child.send('reject');
    await expect.poll(contained).toBe(before + 6);
    const logged = target
      .log()
      .split('\n')
      .filter((line) => line.includes('this is a bug in Polypod'));
    expect(logged.filter((line) => line.includes('Maximum call stack size exceeded'))).toHaveLength(1);
    expect(logged.filter((line) => line.includes('planted rejection'))).toHaveLength(1);
    expect(target.ended()).toBeUndefined();
  });
});

async function contained(): Promise<number> {
  const client = await LineClient.unix(target.control);
  client.send('{"method":"metrics"}\n');
  const { result } = await client.waitFor((line) => line.result !== undefined);
  client.close();
  const { text } = result as { text: string };
  return Number(/^polypod_unexpected_errors_total (\d+)$/m.exec(text)?.[1]);
}

import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { performSteps } from '../../src/sim/perform-steps.ts';
import type { Step } from '../../src/sim/steps.ts';
import { type SimRequest, PROVIDER_APIS } from '../../src/sim/index.ts';
import { responseBytes, send, readUntil, open, REQUESTS, streamText } from './raw.ts';
import { simStarter } from './sims.ts';

const start = simStarter();
const ENDLESS = '[[sim deltas=100000 size=5 delay=1]]';

function timers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
}

/** Polls; the test's time limit ends it. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await setImmediate();
}

function userMessage(text: string) {
  return [{ role: 'user', text, toolCalls: [], toolResults: [] }];
}

async function everyAnswer(): Promise<readonly string[]> {
  const sim = await start({ now: () => 1_700_000_000_000 });
  const answers = [];
  for (const api of PROVIDER_APIS)
    answers.push(responseBytes(await send(sim, REQUESTS[api]('Hello?', true))).toString());
  return answers;
}

describe('the simulator', () => {
  test.each(PROVIDER_APIS)('accepts any path prefix (%s)', async (api) => {
    const sim = await start({ script: [{ parts: [{ text: 'found' }] }] });
    const { path, body } = REQUESTS[api]('Hello?', true);
    const answer = await send(sim, { path: `/some/gateway${path}`, body });
    expect(streamText(api, responseBytes(answer))).toBe('found');
  });

  test('records the requests it receives', async () => {
    const sim = await start();
    const { path, body } = REQUESTS.gemini('Hello?', true);
    await send(sim, { path, body });
    expect(sim.requests).toMatchObject([
      { method: 'POST', path, body, headers: { 'content-type': 'application/json' } },
    ]);
  });

  test.each(PROVIDER_APIS)('passes requests to a script in one shape (%s)', async (api) => {
    const requests: SimRequest[] = [];
    const sim = await start({
      script: (request) => {
        requests.push(request);
        return { parts: [{ text: 'ok' }] };
      },
    });
    await send(sim, REQUESTS[api]('Hello?', true));
    await send(sim, REQUESTS[api]('Hello again?', false));
    expect(requests).toMatchObject([
      { api, model: 'm', stream: true, system: '', messages: userMessage('Hello?'), tools: [] },
      { api, model: 'm', stream: false, system: '', messages: userMessage('Hello again?'), tools: [] },
    ]);
  });

  test('returns the same bytes for the same requests', async () => {
    expect(await everyAnswer()).toEqual(await everyAnswer());
  });

  test('reports an exhausted or failing script', async () => {
    const empty = await start({ script: [] });
    expect(responseBytes(await send(empty, REQUESTS.ollama('Hello?', true))).toString()).toBe(
      '{"error":"the script has no answer left: it contains 0"}',
    );
    const broken = await start({
      script: () => {
        throw new Error('a bug in the script');
      },
    });
    const answer = await send(broken, REQUESTS.ollama('Hello?', true));
    expect([answer.status, responseBytes(answer).toString()]).toEqual([
      400,
      '{"error":"a bug in the script"}',
    ]);
  });

  test('rejects an unknown path and a body that is not JSON', async () => {
    const sim = await start();
    const lost = await send(sim, { path: '/v2/nowhere', body: {} });
    expect(lost.status).toBe(404);
    expect(responseBytes(lost).toString()).toContain('available: POST /v1/messages');
    const garbled = await send(sim, { path: '/v1/messages', body: [] });
    expect(garbled.status).toBe(400);
  });

  test('close ends open streams, leaves no timers, and stops listening', async () => {
    const sim = await start();
    const before = timers();
    const streams = await Promise.all(PROVIDER_APIS.map((api) => open(sim, REQUESTS[api](ENDLESS, true))));
    await Promise.all(
      streams.map((stream, at) =>
        readUntil(
          stream,
          (text) => streamText(PROVIDER_APIS[at] ?? 'ollama', Buffer.from(text, 'latin1')) !== '',
        ),
      ),
    );
    const ended = Promise.all(streams.map((stream) => new Promise((resolve) => stream.on('close', resolve))));
    await sim.close();
    await ended;
    await until(() => timers() <= before);
    await expect(send(sim, REQUESTS.ollama('Hello?', true))).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  test('stops when the client disconnects', async () => {
    const sim = await start();
    const before = timers();
    const stream = await open(sim, REQUESTS.anthropic(ENDLESS, true));
    await readUntil(stream, (text) => text.includes('text_delta'));
    stream.destroy();
    await until(() => timers() <= before);
  });

  test('waits for a client that does not read', async () => {
    const total = 5_000;
    let pulled = 0;
    const bytes = Buffer.alloc(10_000, 'x');
    function* steps(): Generator<Step> {
      for (; pulled < total; pulled += 1) yield { do: 'write', bytes, isDelta: true };
    }
    let response: ServerResponse | undefined;
    const server = createServer((_, serverResponse) => {
      response = serverResponse;
      void performSteps(serverResponse, steps(), new AbortController().signal);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const client = connect(port, '127.0.0.1').pause();
    client.write('GET / HTTP/1.0\r\n\r\n');
    await until(() => response?.writableNeedDrain === true);
    expect(pulled).toBeLessThan(total);
    let received = 0;
    client.on('data', (chunk) => {
      received += chunk.length;
    });
    client.resume();
    await once(client, 'end');
    expect(pulled).toBe(total);
    expect(received).toBeGreaterThan(total * 10_000);
    server.close();
  });

  test('reports a port that is in use', async () => {
    const sim = await start();
    await expect(start({ port: sim.port })).rejects.toMatchObject({ code: 'conflict' });
  });
});

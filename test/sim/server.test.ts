import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { perform } from '../../src/sim/perform.ts';
import type { Step } from '../../src/sim/steps.ts';
import { type SimRequest, WIRES } from '../../src/sim/index.ts';
import { bytesOf, heard, heardUntil, opened, QUESTION, textIn } from './raw.ts';
import { simStarter } from './sims.ts';

const start = simStarter();
const ENDLESS = '[[sim deltas=100000 size=5 delay=1]]';

function timers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
}

/** Fails by the test's own time limit. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await setImmediate();
}

function userSaid(text: string) {
  return [{ role: 'user', text, toolCalls: [], toolResults: [] }];
}

async function everyAnswer(): Promise<readonly string[]> {
  const sim = await start({ now: () => 1_700_000_000_000 });
  const answers = [];
  for (const wire of WIRES)
    answers.push(bytesOf(await heard(sim, QUESTION[wire]('Hello?', true))).toString());
  return answers;
}

describe('the simulator', () => {
  test.each(WIRES)('answers under any path prefix (%s)', async (wire) => {
    const sim = await start({ script: [{ parts: [{ text: 'found' }] }] });
    const { path, body } = QUESTION[wire]('Hello?', true);
    const answer = await heard(sim, { path: `/some/gateway${path}`, body });
    expect(textIn(wire, bytesOf(answer))).toBe('found');
  });

  test('keeps what it received', async () => {
    const sim = await start();
    const { path, body } = QUESTION.gemini('Hello?', true);
    await heard(sim, { path, body });
    expect(sim.requests).toMatchObject([
      { method: 'POST', path, body, headers: { 'content-type': 'application/json' } },
    ]);
  });

  test.each(WIRES)('shows a script the request in one shape (%s)', async (wire) => {
    const seen: SimRequest[] = [];
    const sim = await start({
      script: (request) => {
        seen.push(request);
        return { parts: [{ text: 'ok' }] };
      },
    });
    await heard(sim, QUESTION[wire]('Hello?', true));
    await heard(sim, QUESTION[wire]('Hello again?', false));
    expect(seen).toMatchObject([
      { wire, model: 'm', stream: true, system: '', messages: userSaid('Hello?'), tools: [] },
      { wire, model: 'm', stream: false, system: '', messages: userSaid('Hello again?'), tools: [] },
    ]);
  });

  test('gives the same bytes to the same questions', async () => {
    expect(await everyAnswer()).toEqual(await everyAnswer());
  });

  test('says so when a script has no answer left, or fails', async () => {
    const empty = await start({ script: [] });
    expect(bytesOf(await heard(empty, QUESTION.ollama('Hello?', true))).toString()).toBe(
      '{"error":"the script has no answer left: it has 0"}',
    );
    const broken = await start({
      script: () => {
        throw new Error('a bug in the script');
      },
    });
    const answer = await heard(broken, QUESTION.ollama('Hello?', true));
    expect([answer.status, bytesOf(answer).toString()]).toEqual([400, '{"error":"a bug in the script"}']);
  });

  test('refuses an unknown path and a body that is no JSON', async () => {
    const sim = await start();
    const lost = await heard(sim, { path: '/v2/nowhere', body: {} });
    expect(lost.status).toBe(404);
    expect(bytesOf(lost).toString()).toContain('it has POST /v1/messages');
    const garbled = await heard(sim, { path: '/v1/messages', body: [] });
    expect(garbled.status).toBe(400);
  });

  test('close ends open streams, leaves no timers, and refuses new connections', async () => {
    const sim = await start();
    const before = timers();
    const streams = await Promise.all(WIRES.map((wire) => opened(sim, QUESTION[wire](ENDLESS, true))));
    await Promise.all(
      streams.map((stream, at) =>
        heardUntil(stream, (text) => textIn(WIRES[at] ?? 'ollama', Buffer.from(text)) !== ''),
      ),
    );
    const ended = Promise.all(streams.map((stream) => new Promise((resolve) => stream.on('close', resolve))));
    await sim.close();
    await ended;
    await until(() => timers() <= before);
    await expect(heard(sim, QUESTION.ollama('Hello?', true))).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  test('stops when the client leaves', async () => {
    const sim = await start();
    const before = timers();
    const stream = await opened(sim, QUESTION.anthropic(ENDLESS, true));
    await heardUntil(stream, (text) => text.includes('text_delta'));
    stream.destroy();
    await until(() => timers() <= before);
  });

  test('waits for a client that does not read', async () => {
    const total = 5_000;
    let pulled = 0;
    function* steps(): Generator<Step> {
      for (; pulled < total; pulled += 1) yield { do: 'write', text: 'x'.repeat(10_000), isDelta: true };
    }
    let response: ServerResponse | undefined;
    const server = createServer((_, given) => {
      response = given;
      void perform(given, steps(), new AbortController().signal);
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

  test('refuses a port that is taken', async () => {
    const sim = await start();
    await expect(start({ port: sim.port })).rejects.toMatchObject({ code: 'conflict' });
  });
});

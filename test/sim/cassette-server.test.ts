import Anthropic, { BadRequestError } from '@anthropic-ai/sdk';
import { request as httpRequest } from 'node:http';
import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { startRecordingProxy } from '../../src/sim/cassettes/recording-proxy.ts';
import { startReplayServer } from '../../src/sim/cassettes/replay-server.ts';
import { startSim } from '../../src/sim/server.ts';
import { httpTransport } from '../../src/wire/index.ts';
import {
  cassettesIn,
  filesIn,
  exchange,
  deferredSignal,
  cassetteFixture,
  thrownBy,
} from './cassette-fixture.ts';

const { folder, serve, closeAfterTest: until } = cassetteFixture();
const KEY = 'client-key-of-a-person-42';
const question = {
  model: 'claude-x',
  max_tokens: 100,
  messages: [{ role: 'user' as const, content: 'Grüße!' }],
};

function anthropic(baseURL: string, apiKey = KEY): Anthropic {
  return new Anthropic({ baseURL, apiKey, maxRetries: 0 });
}

async function chatText(baseURL: string): Promise<string | null | undefined> {
  const client = new OpenAI({ baseURL, apiKey: KEY, maxRetries: 0 });
  const messages = [{ role: 'user' as const, content: 'Hi' }];
  return (await client.chat.completions.create({ model: 'm', messages })).choices[0]?.message.content;
}

async function proxyFor(target: string, directory: string) {
  const proxy = await startRecordingProxy({ target, directory });
  until(proxy);
  return proxy;
}

async function replayOf(directory: string) {
  const server = await startReplayServer({ directory, timing: 'instant' });
  until(server);
  return server;
}

describe('the recording proxy and the replay server', () => {
  test('return the same message to the official Anthropic client, live and replayed', async () => {
    const parts = [{ text: 'Grüße zurück 🐙' }, { toolCall: { name: 'read', arguments: { path: 'a' } } }];
    const sim = await startSim({ script: [{ parts, pace: { chunkSize: 2 } }], keys: [KEY] });
    until(sim);
    const directory = await folder();
    const proxy = await proxyFor(sim.url, directory);
    const live = await anthropic(proxy.url).messages.stream(question).finalMessage();
    await proxy.close();
    await sim.close();
    expect(live.content).toMatchObject([{ text: 'Grüße zurück 🐙' }, { input: { path: 'a' } }]);

    const files = await filesIn(directory);
    expect(Object.keys(files)).toEqual(['0001-127.0.0.1-v1-messages-claude-x.json']);
    expect(JSON.stringify(files)).not.toContain(KEY);

    const replay = await replayOf(directory);
    const replayed = await anthropic(replay.url, 'another-key').messages.stream(question).finalMessage();
    expect(replayed).toEqual(live);
  });

  test('return an error that the client can parse for a request that was not recorded', async () => {
    const sim = await startSim();
    until(sim);
    const directory = await folder();
    const proxy = await proxyFor(sim.url, directory);
    await anthropic(proxy.url).messages.create(question);
    await proxy.close();
    const replay = await replayOf(directory);
    const thrown = await thrownBy(anthropic(replay.url).messages.create({ ...question, max_tokens: 7 }));
    expect(thrown).toBeInstanceOf(BadRequestError);
    expect(String(thrown)).toContain('differs in body.max_tokens: recorded 100, requested 7; record this');
  });

  test("keep the client's base URL working if the target has a path", async () => {
    const sim = await startSim({ script: [{ parts: [{ text: 'Hello' }] }] });
    until(sim);
    const directory = await folder();
    const proxy = await proxyFor(`${sim.url}/v1/`, directory);
    expect(await chatText(proxy.url)).toBe('Hello');
    await proxy.close();
    const replay = await replayOf(directory);
    expect(await chatText(replay.url)).toBe('Hello');
    expect(await chatText(`${replay.url}/v1`)).toBe('Hello');
  });

  test('forward the response headers before the first chunk, and each chunk before the next', async () => {
    const headRead = deferredSignal();
    const firstRead = deferredSignal();
    const target = await serve(async (_, response) => {
      response.flushHeaders();
      await headRead.triggered;
      response.write('one');
      await firstRead.triggered;
      response.end('two');
    });
    const proxy = await proxyFor(target.url, await folder());
    const response = await fetch(proxy.url);
    headRead.trigger();
    const read: string[] = [];
    for await (const piece of response.body ?? []) {
      read.push(Buffer.from(piece).toString());
      firstRead.trigger();
    }
    expect(read).toEqual(['one', 'two']);
  });

  test("forward the client's credentials, and break where the provider broke", async () => {
    const receivedHeaders: unknown[] = [];
    const target = await serve((incoming, response) => {
      receivedHeaders.push(incoming.headers['x-api-key'], incoming.headers['accept-encoding']);
      response.writeHead(200, { 'x-request-id': 'r1' });
      response.write('half', () => response.destroy());
    });
    const directory = await folder();
    const proxy = await proxyFor(target.url, directory);
    const request = { method: 'GET', url: `${proxy.url}/v1/x`, headers: { 'x-api-key': KEY } } as const;
    const live = await exchange(httpTransport, request);
    await proxy.close();
    expect(receivedHeaders).toEqual([KEY, 'identity']);
    expect(live).toMatchObject({ status: 200, pieces: [Buffer.from('half').toString('hex')] });
    expect(live.error).toBeDefined();
    const replay = await replayOf(directory);
    expect(await exchange(httpTransport, { ...request, url: `${replay.url}/v1/x` })).toEqual(live);
  });

  test('record an exchange that the client aborts', async () => {
    const target = await serve((_, response) => void response.write('endless'));
    const directory = await folder();
    const proxy = await proxyFor(target.url, directory);
    await new Promise<void>((resolve) => {
      const outgoing = httpRequest(proxy.url, (incoming) => {
        incoming.once('data', () => outgoing.destroy());
        incoming.once('close', resolve);
        incoming.on('error', () => {});
      });
      outgoing.on('error', () => {}).end();
    });
    await proxy.close();
    expect((await cassettesIn(directory))[0]?.response).toMatchObject({ error: { kind: 'stopped' } });
  });

  test('write pending exchanges to disk before close resolves', async () => {
    const requestReceived = deferredSignal();
    const target = await serve(() => requestReceived.trigger());
    const directory = await folder();
    const proxy = await proxyFor(target.url, directory);
    const waiting = thrownBy(fetch(proxy.url));
    await requestReceived.triggered;
    await proxy.close();
    await waiting;
    const [cassette] = await cassettesIn(directory);
    expect(cassette?.response).toMatchObject({ error: { kind: 'stopped' } });
    expect(cassette?.response).not.toHaveProperty('status');
  });

  test('answer 502 with the reason if the provider does not answer', async () => {
    const directory = await folder();
    // Nothing listens on port 1. A port that a test has just closed may be in use again.
    const proxy = await proxyFor('http://127.0.0.1:1', directory);
    const live = await fetch(proxy.url);
    await proxy.close();
    const replay = await replayOf(directory);
    const replayed = await fetch(replay.url);
    expect([live.status, replayed.status]).toEqual([502, 502]);
    const body = await live.text();
    expect(body).toContain('ECONNREFUSED');
    expect(await replayed.text()).toBe(body);
  });

  test('reject what cannot be recorded, an invalid target, and a port in use', async () => {
    const directory = await folder();
    const proxy = await proxyFor('http://127.0.0.1:9', directory);
    const put = await fetch(proxy.url, { method: 'PUT', body: 'x' });
    expect([put.status, await put.text()]).toEqual([
      400,
      '{"type":"error","error":{"type":"invalid_request_error","message":"PUT cannot be recorded: only GET and POST are supported"}}',
    ]);
    const binary = await fetch(proxy.url, { method: 'POST', body: Uint8Array.of(0xff) });
    expect(await binary.text()).toContain('a body that is not UTF-8 text cannot be recorded');
    const nowhere = startRecordingProxy({ target: 'api.example.com', directory });
    expect(String(await thrownBy(nowhere))).toContain('pass a base URL such as https://api.anthropic.com');
    const taken = startRecordingProxy({ target: 'http://127.0.0.1:9', directory, port: proxy.port });
    expect(await thrownBy(taken)).toMatchObject({ code: 'conflict' });
  });
});

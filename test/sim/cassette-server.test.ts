import Anthropic, { BadRequestError } from '@anthropic-ai/sdk';
import { request as httpRequest } from 'node:http';
import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { startRecordingProxy } from '../../src/sim/cassettes/recording-proxy.ts';
import { startReplayServer } from '../../src/sim/cassettes/replay-server.ts';
import { startSim } from '../../src/sim/server.ts';
import { httpTransport } from '../../src/wire/index.ts';
import { cassettesIn, filesIn, heard, moment, stage, thrownBy } from './cassette-stage.ts';

const { folder, serve, until } = stage();
const KEY = 'client-key-of-a-person-42';
const question = {
  model: 'claude-x',
  max_tokens: 100,
  messages: [{ role: 'user' as const, content: 'Grüße!' }],
};

function anthropic(baseURL: string, apiKey = KEY): Anthropic {
  return new Anthropic({ baseURL, apiKey, maxRetries: 0 });
}

async function chatted(baseURL: string): Promise<string | null | undefined> {
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
  test('give the official Anthropic client the same message live and replayed', async () => {
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
    const again = await anthropic(replay.url, 'another-key').messages.stream(question).finalMessage();
    expect(again).toEqual(live);
  });

  test('tell the client in its own words that a question was not recorded', async () => {
    const sim = await startSim();
    until(sim);
    const directory = await folder();
    const proxy = await proxyFor(sim.url, directory);
    await anthropic(proxy.url).messages.create(question);
    await proxy.close();
    const replay = await replayOf(directory);
    const thrown = await thrownBy(anthropic(replay.url).messages.create({ ...question, max_tokens: 7 }));
    expect(thrown).toBeInstanceOf(BadRequestError);
    expect(String(thrown)).toContain('differs in body.max_tokens: recorded 100, asked 7; record this');
  });

  test('serve a client with the base URL it had, also when the target has a path of its own', async () => {
    const sim = await startSim({ script: [{ parts: [{ text: 'Hello' }] }] });
    until(sim);
    const directory = await folder();
    const proxy = await proxyFor(`${sim.url}/v1/`, directory);
    expect(await chatted(proxy.url)).toBe('Hello');
    await proxy.close();
    const replay = await replayOf(directory);
    expect(await chatted(replay.url)).toBe('Hello');
    expect(await chatted(`${replay.url}/v1`)).toBe('Hello');
  });

  test('pass the head on before the first piece, and a piece before the next one', async () => {
    const headRead = moment();
    const firstRead = moment();
    const target = await serve(async (_, response) => {
      response.flushHeaders();
      await headRead.come;
      response.write('one');
      await firstRead.come;
      response.end('two');
    });
    const proxy = await proxyFor(target.url, await folder());
    const response = await fetch(proxy.url);
    headRead.arrive();
    const read: string[] = [];
    for await (const piece of response.body ?? []) {
      read.push(Buffer.from(piece).toString());
      firstRead.arrive();
    }
    expect(read).toEqual(['one', 'two']);
  });

  test('forward the credentials of the client, and cut where the provider cut', async () => {
    const seen: unknown[] = [];
    const target = await serve((incoming, response) => {
      seen.push(incoming.headers['x-api-key'], incoming.headers['accept-encoding']);
      response.writeHead(200, { 'x-request-id': 'r1' });
      response.write('half', () => response.destroy());
    });
    const directory = await folder();
    const proxy = await proxyFor(target.url, directory);
    const request = { method: 'GET', url: `${proxy.url}/v1/x`, headers: { 'x-api-key': KEY } } as const;
    const live = await heard(httpTransport, request);
    await proxy.close();
    expect(seen).toEqual([KEY, 'identity']);
    expect(live).toMatchObject({ status: 200, pieces: [Buffer.from('half').toString('hex')] });
    expect(live.error).toBeDefined();
    const replay = await replayOf(directory);
    expect(await heard(httpTransport, { ...request, url: `${replay.url}/v1/x` })).toEqual(live);
  });

  test('record an exchange that the client leaves in the middle', async () => {
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

  test('have on disk, once closed, also what was still without an answer', async () => {
    const asked = moment();
    const target = await serve(() => asked.arrive());
    const directory = await folder();
    const proxy = await proxyFor(target.url, directory);
    const waiting = thrownBy(fetch(proxy.url));
    await asked.come;
    await proxy.close();
    await waiting;
    const [cassette] = await cassettesIn(directory);
    expect(cassette?.response).toMatchObject({ error: { kind: 'stopped' } });
    expect(cassette?.response).not.toHaveProperty('status');
  });

  test('answer 502 with the reason when the provider does not answer', async () => {
    const directory = await folder();
    // Nobody listens there. A port that a test has just closed may be another server's by now.
    const proxy = await proxyFor('http://127.0.0.1:1', directory);
    const live = await fetch(proxy.url);
    await proxy.close();
    const replay = await replayOf(directory);
    const again = await fetch(replay.url);
    expect([live.status, again.status]).toEqual([502, 502]);
    const body = await live.text();
    expect(body).toContain('ECONNREFUSED');
    expect(await again.text()).toBe(body);
  });

  test('refuse what cannot be recorded, a target that is none, and a port that is taken', async () => {
    const directory = await folder();
    const proxy = await proxyFor('http://127.0.0.1:9', directory);
    const put = await fetch(proxy.url, { method: 'PUT', body: 'x' });
    expect([put.status, await put.text()]).toEqual([
      400,
      '{"type":"error","error":{"type":"invalid_request_error","message":"PUT cannot be recorded: only GET and POST are"}}',
    ]);
    const binary = await fetch(proxy.url, { method: 'POST', body: Uint8Array.of(0xff) });
    expect(await binary.text()).toContain('a body that is not UTF-8 text cannot be recorded');
    const nowhere = startRecordingProxy({ target: 'api.example.com', directory });
    expect(String(await thrownBy(nowhere))).toContain('give a base URL such as https://api.anthropic.com');
    const taken = startRecordingProxy({ target: 'http://127.0.0.1:9', directory, port: proxy.port });
    expect(await thrownBy(taken)).toMatchObject({ code: 'conflict' });
  });
});

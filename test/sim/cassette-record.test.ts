import { mkdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { messageOf, PolypodError } from '../../src/base/index.ts';
import { type Account, connect, type LlmEvent, type LlmRequest, textContent } from '../../src/llm/index.ts';
import { providers } from '../../src/registry.ts';
import { recordingTransport } from '../../src/sim/cassettes/record.ts';
import { replayTransport } from '../../src/sim/cassettes/replay.ts';
import { startSim } from '../../src/sim/server.ts';
import { type HttpRequest, httpTransport, type Transport } from '../../src/wire/index.ts';
import {
  cassettesIn,
  dribble,
  filesIn,
  exchange,
  deferredSignal,
  cassetteFixture,
  thrownBy,
} from './cassette-fixture.ts';

const { folder, serve, closeAfterTest: until } = cassetteFixture();
const KEY = 'sk-ant-a-very-secret-key-0123456789';
const question: LlmRequest = {
  model: 'claude-x',
  items: [{ type: 'message', role: 'user', content: textContent('Grüße, 🐙!') }],
};
const bases: Readonly<Record<string, string>> = {
  'openai-chat': '/v1',
  'openai-responses': '/v1',
  gemini: '/v1beta',
};

function ask(url: string, body?: object): HttpRequest {
  return body === undefined
    ? { method: 'GET', url, headers: {} }
    : { method: 'POST', url, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

async function all(events: AsyncIterable<LlmEvent>): Promise<LlmEvent[]> {
  const list: LlmEvent[] = [];
  for await (const event of events) list.push(event);
  return list;
}

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

async function accessTo(path: string): Promise<number> {
  return (await stat(path)).mode & 0o777;
}

const silent: Transport = async () => ({ status: 200, headers: {}, body: (async function* () {})() });

describe.each(providers)('a recorded $name exchange', (provider) => {
  const account = (url: string): Account => ({
    name: 'test',
    api: provider.name,
    baseUrl: `${url}${bases[provider.name] ?? ''}`,
    apiKey: KEY,
  });
  const events = (transport: Transport, url: string): Promise<LlmEvent[]> => {
    const llm = connect(provider, account(url), { transport, seed: () => 'seed' });
    return all(llm.stream(question, new AbortController().signal));
  };

  test('replays the same events without the provider', async () => {
    const parts = [
      { thinking: 'Let me think.' },
      { text: 'Größer als gedacht 🐙.' },
      { toolCall: { name: 'read', arguments: { path: 'ü.md' } } },
    ];
    const sim = await startSim({ script: [{ parts, pace: { chunkSize: 3 } }] });
    until(sim);
    const directory = await folder();
    const recorder = recordingTransport(httpTransport, { directory, secrets: [KEY] });
    const live = await events(recorder, sim.url);
    await recorder.settled();
    await sim.close();
    expect(live.at(-1)).toMatchObject({ type: 'status', status: 'completed' });
    expect(await events(replayTransport({ directory, timing: 'instant' }), sim.url)).toEqual(live);
    expect(JSON.stringify(await filesIn(directory))).not.toContain(KEY);
    const [cassette] = await cassettesIn(directory);
    expect(cassette?.response).not.toHaveProperty('error');
  });

  test('leaves a cassette of the received part if it is cancelled', async () => {
    const sim = await startSim({
      script: [{ parts: [{ text: 'word '.repeat(50) }], fault: { kind: 'stall' } }],
    });
    until(sim);
    const directory = await folder();
    const recorder = recordingTransport(httpTransport, { directory, secrets: [KEY] });
    const controller = new AbortController();
    const live: LlmEvent[] = [];
    for await (const event of connect(provider, account(sim.url), { transport: recorder }).stream(
      question,
      controller.signal,
    )) {
      live.push(event);
      if (event.type === 'block-delta') controller.abort();
    }
    await recorder.settled();
    expect(live.at(-1)).toEqual({ type: 'status', status: 'cancelled' });
    const [cassette] = await cassettesIn(directory);
    expect(cassette?.response).toMatchObject({ status: 200, error: { kind: 'stopped' } });
    expect(await events(replayTransport({ directory, timing: 'instant' }), sim.url)).toContainEqual(
      expect.objectContaining({
        type: 'error',
        kind: 'cut-off',
        message: 'the connection broke (the recording ends here: its reader stopped)',
      }),
    );
  });

  test('breaks at the same place with the same message when it was cut', async () => {
    const script = [
      { parts: [{ text: 'This will never be said to its end.' }], fault: { kind: 'cut' } as const },
    ];
    const sim = await startSim({ script });
    until(sim);
    const directory = await folder();
    const recorder = recordingTransport(httpTransport, { directory, secrets: [KEY] });
    const live = await events(recorder, sim.url);
    await recorder.settled();
    await sim.close();
    expect(live.find(({ type }) => type === 'error')).toMatchObject({ kind: 'cut-off' });
    expect(await events(replayTransport({ directory, timing: 'instant' }), sim.url)).toEqual(live);
    const [cassette] = await cassettesIn(directory);
    expect(cassette?.response).toMatchObject({ error: { kind: 'broken' } });
  });
});

describe('a recording', () => {
  test('records every chunk as received, including one that ends inside a character', async () => {
    const octopus = Buffer.from('🐙');
    const pieces = [
      Buffer.from('data: "'),
      octopus.subarray(0, 1),
      octopus.subarray(1),
      Buffer.from('"\n\n'),
    ];
    const server = await serve(async (_, response) => {
      await dribble(response, pieces);
      response.end();
    });
    const directory = await folder();
    const recorder = recordingTransport(httpTransport, { directory, secrets: [] });
    const live = await exchange(recorder, ask(server.url, { a: 1, b: [2] }));
    await recorder.settled();
    await server.close();
    expect(live).toEqual({
      status: 200,
      pieces: pieces.map((piece) => piece.toString('hex')),
      error: undefined,
    });
    const replay = replayTransport({ directory, timing: 'instant' });
    expect(await exchange(replay, ask(server.url, { b: [2], a: 1 }))).toEqual(live);
  });

  test('forwards every chunk before the next one is sent', async () => {
    const firstRead = deferredSignal();
    const server = await serve(async (_, response) => {
      response.write('one');
      await firstRead.triggered;
      response.end('two');
    });
    const recorder = recordingTransport(httpTransport, { directory: await folder(), secrets: [] });
    const response = await recorder(ask(server.url), {
      signal: new AbortController().signal,
      onOpen: () => {},
    });
    const chunks: string[] = [];
    for await (const piece of response.body) {
      chunks.push(Buffer.from(piece).toString());
      firstRead.trigger();
    }
    expect(chunks).toEqual(['one', 'two']);
    await recorder.settled();
  });

  test('is written if its reader cancels, and replays that error', async () => {
    const server = await serve((_, response) => void response.write('data: 1\n\n'));
    const directory = await folder();
    const recorder = recordingTransport(httpTransport, { directory, secrets: [] });
    const controller = new AbortController();
    const response = await recorder(ask(server.url), { signal: controller.signal, onOpen: () => {} });
    await thrownBy(
      (async () => {
        for await (const _ of response.body) controller.abort();
      })(),
    );
    await recorder.settled();
    expect(await exchange(replayTransport({ directory, timing: 'instant' }), ask(server.url))).toEqual({
      status: 200,
      pieces: [Buffer.from('data: 1\n\n').toString('hex')],
      error: 'Error: the recording ends here: its reader stopped',
    });
  });

  test('contains the whole response if its reader stops early', async () => {
    const server = await serve(async (_, response) => {
      response.write('finish');
      await setTimeout(30);
      response.end('tail');
    });
    const directory = await folder();
    const recorder = recordingTransport(httpTransport, { directory, secrets: [] });
    const response = await recorder(ask(server.url), {
      signal: new AbortController().signal,
      onOpen: () => {},
    });
    for await (const _ of response.body) break;
    await recorder.settled();
    const [cassette] = await cassettesIn(directory);
    expect(cassette?.response).toMatchObject({
      chunks: [{ bytes: bytes('finish') }, { bytes: bytes('tail') }],
    });
    expect(cassette?.response).not.toHaveProperty('error');
  });

  test('abandons a response that nobody reads and that does not end', async () => {
    const server = await serve((_, response) => void response.write('finish'));
    const directory = await folder();
    const recorder = recordingTransport(httpTransport, { directory, secrets: [] });
    const response = await recorder(ask(server.url), {
      signal: new AbortController().signal,
      onOpen: () => {},
    });
    for await (const _ of response.body) break;
    await recorder.settled();
    expect((await cassettesIn(directory))[0]?.response).toMatchObject({ error: { kind: 'stopped' } });
  });

  test('is written if nobody reads the body', async () => {
    const server = await serve((_, response) => void response.writeHead(302, { location: '/' }).end('moved'));
    const directory = await folder();
    const recorder = recordingTransport(httpTransport, { directory, secrets: [] });
    await recorder(ask(server.url), { signal: new AbortController().signal, onOpen: () => {} });
    await recorder.settled();
    expect((await cassettesIn(directory))[0]?.response).toMatchObject({ status: 302 });
  });

  test('replays the same error for an unreachable provider', async () => {
    const server = await serve(() => {});
    await server.close();
    const directory = await folder();
    const recorder = recordingTransport(httpTransport, { directory, secrets: [] });
    const live = await thrownBy(exchange(recorder, ask(server.url)));
    await recorder.settled();
    const replayed = await thrownBy(
      exchange(replayTransport({ directory, timing: 'instant' }), ask(server.url)),
    );
    expect(live).toMatchObject({ code: 'ECONNREFUSED' });
    expect(replayed).toMatchObject({ code: 'ECONNREFUSED', message: messageOf(live) });
  });

  test('has a sortable, descriptive name and owner-only permissions', async () => {
    const server = await serve((_, response) => void response.end('ok'));
    const directory = await folder();
    const recorder = recordingTransport(httpTransport, { directory, secrets: [], name: 'anthropic' });
    await exchange(recorder, ask(`${server.url}/v1/messages?beta=true`, { model: 'claude-4.5/x' }));
    await recorder.settled();
    expect(Object.keys(await filesIn(directory))).toEqual(['0001-anthropic-v1-messages-claude-4.5-x.json']);
    expect(await accessTo(directory)).toBe(0o700);
    expect(await accessTo(join(directory, '0001-anthropic-v1-messages-claude-4.5-x.json'))).toBe(0o600);
  });

  test("is named after the provider's host by default", async () => {
    const directory = await folder();
    const recorder = recordingTransport(silent, { directory, secrets: [] });
    await exchange(recorder, ask('https://api.anthropic.com/v1/messages', { model: 'claude-x' }));
    await exchange(recorder, ask('http://127.0.0.1:11434/api/tags'));
    await recorder.settled();
    expect(Object.keys(await filesIn(directory))).toEqual([
      '0001-anthropic-v1-messages-claude-x.json',
      '0002-127.0.0.1-api-tags.json',
    ]);
  });

  test('continues the numbering of its folder in request order, also next to another recorder', async () => {
    const server = await serve(async ({ url = '' }, response) => {
      // The first request gets its answer last.
      await setTimeout(30 - 3 * Number(url.slice(1)));
      response.end();
    });
    const directory = await folder();
    await mkdir(directory);
    await writeFile(join(directory, '0041-mine.json'), '{}');
    const first = recordingTransport(httpTransport, { directory, secrets: [], name: 'same' });
    const second = recordingTransport(httpTransport, { directory, secrets: [], name: 'same' });
    await Promise.all(
      Array.from({ length: 8 }, (_, index) => exchange(first, ask(`${server.url}/${index}`))),
    );
    await Promise.all(
      [...Array(8).keys()].map((index) => exchange(index % 2 ? first : second, ask(`${server.url}/9`))),
    );
    await Promise.all([first.settled(), second.settled()]);
    const names = Object.keys(await filesIn(directory));
    expect(names.slice(0, 9)).toEqual([
      '0041-mine.json',
      ...[...Array(8).keys()].map((index) => `00${42 + index}-same-${index}.json`),
    ]);
    expect(names.slice(9)).toEqual([...Array(8).keys()].map((index) => `00${50 + index}-same-9.json`));
  });

  test('gets a number of its own when many recorders share a folder', async () => {
    const directory = await folder();
    const first = async (): Promise<void> => {
      const recorder = recordingTransport(silent, { directory, secrets: [], name: 'same' });
      for (let turn = 0; turn < 10; turn += 1) {
        await exchange(recorder, ask('http://127.0.0.1:1/'));
        await recorder.settled();
      }
    };
    await Promise.all(Array.from({ length: 8 }, first));
    const numbers = Object.keys(await filesIn(directory)).map((name) => Number.parseInt(name));
    expect(numbers).toEqual([...Array(80).keys()].map((index) => index + 1));
  });

  test('rejects the exchange before it is sent if the folder is not writable', async () => {
    const directory = await folder();
    await writeFile(directory, 'a file where the folder should be');
    let requestCount = 0;
    const counting: Transport = async (request, watch) => {
      requestCount += 1;
      return await httpTransport(request, watch);
    };
    const recorder = recordingTransport(counting, { directory, secrets: [] });
    const thrown = await thrownBy(exchange(recorder, ask('http://127.0.0.1:1/')));
    expect(thrown).toBeInstanceOf(PolypodError);
    expect(String(thrown)).toContain(`cannot record into ${join(dirname(directory), 'tapes')}: `);
    expect(requestCount).toBe(0);
  });
});

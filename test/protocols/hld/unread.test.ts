import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/base/index.ts';
import { cliFixture } from '../../cli/daemon.ts';
import { start } from '../../cli/polypod.ts';
import type { SimAnswer } from '../../../src/sim/index.ts';
import { ADA, promptCommand } from '../../pod/fixture.ts';
import { Client, hldFixture, launch, type Launched } from './fixture.ts';

const MEGABYTE = 1024 * 1024;

/** An answer whose event has this many bytes. */
const long = (bytes: number): SimAnswer => ({
  parts: [{ text: 'x'.repeat(bytes) }],
  pace: { chunkSize: 250_000 },
});

async function nonReadingSubscriber(path: string, params: JsonObject = {}): Promise<Client> {
  const client = await Client.open(path);
  client.send({ jsonrpc: '2.0', method: 'Subscribe', params, id: 1 });
  await client.line(0);
  client.socket.pause();
  return client;
}

describe('clients that do not read', () => {
  it('share one copy in memory, are disconnected at their limit, and delay no one', async () => {
    const fixture = await cliFixture(Array.from({ length: 9 }, () => long(1_000_000)));
    const heapFile = join(fixture.home, 'heap.json');
    const probe = pathToFileURL(resolve('test/protocols/tasks/limits/heap-probe.mjs')).href;
    const env = { ...fixture.env, NODE_OPTIONS: `--import=${probe}`, HEAP_FILE: heapFile };
    const daemon = start(['serve', '--json'], env);
    await daemon.waitForOutput('{"pid":');
    const live = async (count: number): Promise<number> => {
      process.kill(daemon.child.pid ?? 0, 'SIGUSR2');
      await expect.poll(() => usageIn(heapFile), { timeout: 20_000 }).toMatchObject({ count });
      return usageIn(heapFile)?.live ?? Number.NaN;
    };
    const path = join(fixture.home, '.humanlayer/daemon.sock');
    const client = await Client.open(path);
    const subscriber = await Client.open(path);
    subscriber.send({ jsonrpc: '2.0', method: 'Subscribe', params: {}, id: 1 });
    const work = async (runs: number): Promise<void> => {
      for (let run = 0; run < runs; run += 1) {
        const { session_id } = (await client.call('launchSession', { query: 'Go' })) as Launched;
        await subscriber.waitForStatus(session_id, 'completed');
        await fixture.pod(session_id).then((pod) => pod.handle({ type: 'close' }, ADA));
      }
    };
    await Promise.all(Array.from({ length: 40 }, () => nonReadingSubscriber(path)));
    const before = await live(1);
    await work(3);
    // 3 MB of events: a copy per client would be 120 MB.
    expect(((await live(2)) - before) / MEGABYTE).toBeLessThan(30);
    await work(6);
    const log = readFileSync(join(fixture.dataDirectory, 'logs/polypod.log'), 'utf8');
    expect(log.match(/the client had more than 8388608 bytes unread/g)).toHaveLength(40);
    expect(subscriber.events.filter(({ data }) => data.content?.length === 1_000_000)).toHaveLength(9);
    expect((await fixture.polypod('status', '--json')).stdout).toContain('"cutOff":40');
  }, 120_000);

  it('share the limit of the door: the one with the most unread bytes is disconnected first', async () => {
    const fixture = await hldFixture(() => long(500_000), {
      agent: { contextWindow: 100_000_000 },
      hld: { limits: { connectionBytes: 10 * MEGABYTE, doorBytes: 1_800_000 } },
    });
    const { subscribe: subscriber, session_id: first } = await launch(fixture, { query: 'a' }, 'completed');
    const { session_id: second } = await launch(fixture, { query: 'b' }, 'completed');
    const again = async (id: string): Promise<void> => {
      const { runId } = await fixture.host.pod(id).handle(promptCommand('again'), ADA);
      await subscriber.waitFor(({ data }) => data.new_status === 'completed' && data.run_id === runId);
    };
    // Their filters differ, so nothing is shared.
    const one = await nonReadingSubscriber(fixture.path, { session_id: first });
    const other = await nonReadingSubscriber(fixture.path, { session_id: second });
    await again(first);
    await again(first);
    await again(second);
    expect(fixture.door.status()).toMatchObject({ cutOff: 0 });
    await again(first);
    await expect.poll(() => fixture.door.status()).toMatchObject({ cutOff: 1 });
    one.socket.resume();
    await one.closed;
    // The other client is still connected, and receives everything.
    other.socket.resume();
    await other.waitFor(({ data }) => data.new_status === 'completed');
    expect(other.events.filter(({ data }) => data.content?.length === 500_000)).toHaveLength(1);
    await expect.poll(() => fixture.door.status().unread).toBe(0);
  });

  it('are disconnected during an answer when they exceed the limit of the door', async () => {
    const text = 'x'.repeat(600_000);
    const fixture = await hldFixture([long(text.length)], {
      hld: { limits: { doorBytes: 1_500_000, stalledMs: 200 } },
    });
    const { client, session_id } = await launch(fixture, { query: 'a' }, 'completed');
    const silent = await Promise.all(Array.from({ length: 4 }, () => fixture.client()));
    for (const one of silent) {
      one.socket.pause();
      one.send({ jsonrpc: '2.0', method: 'getConversation', params: { session_id }, id: 1 });
    }
    // Two of four answers fit.
    await expect.poll(() => fixture.door.status(), { timeout: 20_000 }).toMatchObject({ cutOff: 2 });
    // A client that reads is served and stays connected.
    expect(await client.call('getConversation', { session_id })).toMatchObject({
      events: [{}, { content: text }],
    });
    expect(await client.call('health')).toMatchObject({ status: 'ok' });
  });

  it('may read slowly: an answer and an event larger than the limits arrive', async () => {
    const text = 'x'.repeat(3 * MEGABYTE);
    const fixture = await hldFixture([long(text.length)], {
      hld: { limits: { connectionBytes: MEGABYTE, doorBytes: 8 * MEGABYTE, stalledMs: 100 } },
    });
    const { client, subscribe: subscriber, session_id } = await launch(fixture, { query: 'a' }, 'completed');
    expect(subscriber.events.some(({ data }) => data.content === text)).toBe(true);
    expect(await client.call('getConversation', { session_id })).toMatchObject({
      events: [{}, { content: text }],
    });
    expect(fixture.door.status()).toMatchObject({ cutOff: 0 });
  });
});

function usageIn(file: string): { readonly count: number; readonly live: number } | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as { count: number; live: number };
  } catch {
    // Not written yet, or not completely.
    return undefined;
  }
}

import { describe, expect, it } from 'vitest';
import { podEvents, type WireEvent } from '../../../src/protocols/pod/index.ts';
import type { SimAnswer } from '../../../src/sim/index.ts';
import { isState, podFixture, eventData } from './fixture.ts';

const HELLO: SimAnswer = { parts: [{ text: 'Hello.' }] };

describe('a listener in the same process', () => {
  it('receives a refusal as an event, and as an error', async () => {
    const { door, pod, socketClient } = await podFixture([]);
    const other = await socketClient();
    const received: WireEvent[] = [];
    const listener = await door.listen(pod, (event) => received.push(event));
    await expect(listener.send('cancel')).rejects.toMatchObject({ code: 'conflict' });
    await expect(listener.send('rum')).rejects.toMatchObject({ code: 'unknown-method' });
    await other.waitFor(({ event }) => event === 'error');
    const notRunning = ['error', { code: 'not_running', message: 'there is no run to cancel' }];
    expect(eventData(received)[0]).toEqual(notRunning);
    expect(eventData(received)[1]).toEqual([
      'error',
      { code: 'internal', message: expect.stringContaining('"rum"') as string },
    ]);
    expect(eventData(other.received)).toEqual([notRunning]);
    listener.close();
    await expect(listener.send('get_status')).rejects.toThrow('the link is closed');
  });

  it('that throws is not called again, and affects no other listener', async () => {
    const { door, pod, socketClient } = await podFixture([HELLO]);
    const other = await socketClient();
    let calls = 0;
    const ends: unknown[] = [];
    await door.listen(
      pod,
      () => {
        calls += 1;
        throw new Error('a bug');
      },
      { onEnd: (thrown) => ends.push(thrown) },
    );
    await other.sendRequest('run', { input: 'Hello?' });
    await other.waitFor(isState('idle'));
    expect(calls).toBe(1);
    expect(ends).toEqual([new Error('a bug')]);
    expect(other.received.map(({ event }) => event)).toContain('text_done');
  });

  it('reads events one by one, after a number, until it stops', async () => {
    const { door, pod, socketClient } = await podFixture([HELLO]);
    const other = await socketClient();
    await other.sendRequest('run', { input: 'Hello?' });
    await other.waitFor(isState('idle'));
    const stop = new AbortController();
    const seen: string[] = [];
    for await (const { event } of podEvents(door, pod, {
      signal: stop.signal,
      first: [{ method: 'subscribe', params: { after: 1 } }],
    })) {
      seen.push(event);
      if (event === 'run_end') break;
    }
    expect(seen).toEqual([
      ...['subscribed', 'run_start', 'status', 'user_message', 'turn_start', 'text_delta', 'text_done'],
      ...['usage', 'turn_end', 'run_end'],
    ]);
  });

  it('ends with its signal, and with the pod', async () => {
    const { door, pod, host } = await podFixture([]);
    const stop = new AbortController();
    const stopped = podEvents(door, pod, { signal: stop.signal }).next();
    const events = podEvents(door, pod, {
      signal: new AbortController().signal,
      first: [{ method: 'get_status', request_id: 1 }],
    });
    expect((await events.next()).value).toMatchObject({ event: 'status' });
    stop.abort();
    expect((await stopped).done).toBe(true);
    await host.close(pod.id);
    expect((await events.next()).done).toBe(true);
  });

  it('that reads too slowly gets an error with the number to resume after', async () => {
    const { door, pod, socketClient } = await podFixture([
      { parts: [{ text: 'w'.repeat(400) }], pace: { chunkSize: 2 } },
    ]);
    const events = podEvents(door, pod, {
      signal: new AbortController().signal,
      limit: 50,
      first: [{ method: 'get_status' }],
    });
    expect((await events.next()).value).toMatchObject({ event: 'status' });
    const other = await socketClient();
    await other.sendRequest('run', { input: 'Many words.' });
    await other.waitFor(isState('idle'));
    await expect(events.next()).rejects.toMatchObject({
      code: 'overloaded',
      message: 'more than 50 events were unread: subscribe after 0',
    });
  });
});

import { describe, expect, it } from 'vitest';
import { PodDoor } from '../../../src/protocols/pod/index.ts';
import type { SimAnswer } from '../../../src/sim/index.ts';
import { type Client, isState, type Line, type PodFixture, podFixture } from './fixture.ts';

const LOOK: SimAnswer = {
  parts: [
    { thinking: 'Let me think about what there is to be seen here.' },
    { text: 'I look at two places.' },
    { toolCall: { name: 'ls', arguments: { path: '.' } } },
    { toolCall: { name: 'read', arguments: { path: 'not-there.txt' } } },
  ],
  pace: { chunkSize: 5 },
  interleave: true,
};
const ASK: SimAnswer = { parts: [{ toolCall: { name: 'bash', arguments: { command: 'touch x' } } }] };
const DONE: SimAnswer = { parts: [{ text: 'That is all there is to say.' }], pace: { chunkSize: 4 } };
const ENDLESS: SimAnswer = {
  parts: [{ text: 'On and on and on it goes.' }],
  pace: { chunkSize: 3 },
  fault: { kind: 'stall', after: 4 },
};

describe('a client that reconnects', () => {
  it('after any number receives exactly the lines after it', async () => {
    const fixture = await podFixture([LOOK, ASK, DONE, ENDLESS]);
    const observer = await eventful(fixture);
    const numbers = [...new Set(observer.received.flatMap(({ seq }) => seq ?? []))];
    const last = numbers.at(-1) ?? 0;
    for (let after = 0; after <= last; after += 1) {
      const got = await resumed(fixture, after, last);
      expect(got, `after ${after}`).toEqual(
        observer.received.filter(({ seq }) => seq !== undefined && seq > after),
      );
    }
  });

  it('receives the same lines from the next process', async () => {
    const fixture = await podFixture([LOOK, ASK, DONE, ENDLESS]);
    const observer = await eventful(fixture);
    const last = observer.received.at(-1)?.seq ?? 0;
    await fixture.sockets.closeAll();
    await fixture.host.shutdown();
    const host = await fixture.reopen();
    const again = { door: new PodDoor(), pod: host.pod(fixture.pod.id) };
    for (let after = 1; after <= last; after += 7) {
      const got = await resumed(again, after, last);
      expect(got, `after ${after}`).toEqual(
        observer.received.filter(({ seq }) => seq !== undefined && seq > after),
      );
    }
  });

  it('during a block without a number receives the block from its start', async () => {
    const fixture = await podFixture([ENDLESS]);
    const first = await fixture.socketClient();
    await first.sendRequest('run', { input: 'Go on.' });
    const deltas = (client: Client) => client.received.filter(({ event }) => event === 'text_delta').length;
    await first.waitFor(() => deltas(first) === 4);
    const late = await fixture.socketClient();
    await late.sendRequest('subscribe', {});
    const snapshot = await late.waitFor(({ event }) => event === 'snapshot');
    expect(snapshot.data).toMatchObject({
      reason: 'joined',
      state: 'running',
      in_flight: [{ type: 'text', text: 'On and on an', open: true }],
    });
  });

  it('with an unassigned number is notified of the gap, and receives a snapshot', async () => {
    const fixture = await podFixture([DONE]);
    const client = await fixture.socketClient();
    await client.sendRequest('subscribe', { after: 1_000_000 });
    const { data, seq } = await client.waitFor(({ event }) => event === 'snapshot');
    expect({ data, seq }).toMatchObject({ data: { reason: 'gap', state: 'idle' }, seq: 1 });
    await client.sendRequest('run', { input: 'Hello.' });
    await client.waitFor(isState('idle'));
    expect(client.received[1]).toMatchObject({ event: 'run_start', seq: 2 });
  });

  it('while the pod is running misses nothing and receives nothing twice', async () => {
    const fixture = await podFixture([
      { parts: [{ text: 'x'.repeat(4_000) }], pace: { chunkSize: 2, batch: 20, delayMs: 1 } },
    ]);
    const observer = await fixture.socketClient();
    await observer.sendRequest('subscribe', { after: 0 });
    await observer.sendRequest('run', { input: 'Many words, please.' });
    const late: Client[] = [];
    for (let count = 0; count < 15; count += 1) {
      await observer.waitFor((line) => (line.seq ?? 0) > 8 + count * 60);
      const client = await fixture.socketClient();
      await client.sendRequest('subscribe', { after: count * 5 });
      late.push(client);
    }
    await Promise.all([observer, ...late].map((client) => client.waitFor(isState('idle'))));
    for (const [count, client] of late.entries()) {
      const from = client.received.findIndex(({ event }) => event === 'subscribed') + 1;
      expect(client.received.slice(from)).toEqual(
        observer.received.filter(({ seq }) => seq !== undefined && seq > count * 5),
      );
    }
  });

  it('at any point of a stream misses nothing', async () => {
    const fixture = await podFixture([
      { parts: [{ text: 'x'.repeat(9_000) }], pace: { chunkSize: 3, batch: 5, delayMs: 1 } },
    ]);
    const expected: Line[] = [];
    const first = await fixture.door.listen(fixture.pod, (line) => expected.push(line));
    await first.send('subscribe', { after: 1 });
    const isOver = (): boolean => expected.at(-1)?.event === 'status' && expected.length > 9;
    await first.send('run', { input: 'Many words.' });
    const late: Line[][] = [];
    while (!isOver()) {
      const lines: Line[] = [];
      const listener = await fixture.door.listen(fixture.pod, (line) => lines.push(line));
      await listener.send('subscribe', { after: 1 });
      late.push(lines);
      // Only one turn of the event loop, so that they connect as close together as possible.
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(late.length).toBeGreaterThan(5);
    const numbers = expected.map(({ seq }) => seq);
    for (const lines of late) expect(lines.map(({ seq }) => seq)).toEqual(numbers);
  });
});

/** A session with every kind of event: thinking, parallel calls, an approval, a pause and a cancel. */
async function eventful(fixture: PodFixture): Promise<Client> {
  const observer = await fixture.socketClient();
  await observer.sendRequest('subscribe', { after: 0 });
  await observer.sendRequest('run', { input: 'What is here?' });
  await observer.waitFor(({ event }) => event === 'approval_request');
  await observer.waitFor((line) => line.event === 'status' && line.data.detail === 'waiting');
  await observer.sendRequest('pause');
  const asked = await observer.waitFor(({ event }) => event === 'approval_request');
  const approvalId = asked.event === 'approval_request' ? asked.data.approval_id : '';
  await observer.sendRequest('decide', { approval_id: approvalId, decision: 'approve' });
  await observer.waitFor((line) => line.event === 'status' && line.data.detail === 'paused');
  await observer.sendRequest('resume');
  await observer.waitFor(isState('idle'));
  const before = observer.received.length;
  await observer.sendRequest('run', { input: 'Go on.' });
  await observer.waitFor(
    () => observer.received.slice(before).filter(({ event }) => event === 'text_delta').length === 4,
  );
  await observer.sendRequest('cancel');
  await observer.waitFor(isState('idle'), before);
  return observer;
}

/** The lines that a resuming client receives, up to a number. */
async function resumed(
  { door, pod }: Pick<PodFixture, 'door' | 'pod'>,
  after: number,
  until: number,
): Promise<readonly Line[]> {
  const lines: Line[] = [];
  const listener = await door.listen(pod, (line) => lines.push(line));
  await listener.request({ method: 'subscribe', params: { after } });
  listener.close();
  expect(lines[0]).toEqual({ event: 'subscribed', data: { after } });
  expect(lines.at(-1)?.seq ?? until).toBe(until);
  return lines.slice(1);
}

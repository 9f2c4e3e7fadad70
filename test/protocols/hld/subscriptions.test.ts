import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { objectOf } from '../../../src/base/index.ts';
import { DEFAULT_HEARTBEAT_MS } from '../../../src/protocols/hld/settings.ts';
import { Subscriptions } from '../../../src/protocols/hld/events/subscriptions.ts';
import { asks, type Client, hldFixture, launch, pendingApproval, textAnswer, STALLS } from './fixture.ts';

const beatsIn = (lines: readonly string[]): number =>
  lines.filter((line) => line.includes('"heartbeat"')).length;

const results = (client: Client): readonly unknown[] => client.messages.map(({ result }) => result);

describe('Subscribe', () => {
  it('is confirmed, and every line on the connection is a response without an id', async () => {
    const fixture = await hldFixture([asks(), textAnswer('done')]);
    const {
      session_id,
      client,
      subscribe: subscriber,
    } = await launch(fixture, { query: 'hi' }, 'waiting_input');
    await client.call('sendDecision', {
      approval_id: await pendingApproval(client, session_id),
      decision: 'approve',
    });
    await subscriber.waitForStatus(session_id, 'completed');
    expect(results(subscriber)[0]).toEqual({
      subscription_id: expect.stringMatching(/^\d{14}-[0-9a-f]{16}$/),
      message: 'Subscription established. Waiting for events...',
    });
    for (const line of subscriber.lines) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0', id: null });
    expect(
      subscriber.events.map(({ type, data }) =>
        [type, data.reason ?? data.event_type ?? data.new_status ?? ''].join(' ').trim(),
      ),
    ).toEqual([
      'session_status_changed running',
      'session_status_changed token_update',
      'conversation_updated tool_call',
      'new_approval',
      'session_status_changed waiting_input',
      'approval_resolved',
      'session_status_changed running',
      'conversation_updated tool_result',
      'session_status_changed token_update',
      'conversation_updated message',
      'session_status_changed completed',
    ]);
    expect(subscriber.events.find(({ data }) => data.event_type === 'tool_call')?.data).toEqual({
      session_id,
      claude_session_id: expect.any(String),
      event_type: 'tool_call',
      content_type: 'tool_use',
      parent_tool_use_id: '',
      tool_id: expect.any(String),
      tool_name: 'bash',
      tool_input: { command: 'node -e 1' },
    });
    const numbers = subscriber.events.map(({ seq }) => seq ?? 0);
    expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
  });

  it('sends only the requested events: by types, session and run combined', async () => {
    const fixture = await hldFixture([
      asks(),
      textAnswer('one'),
      textAnswer('two'),
      asks(),
      textAnswer('three'),
    ]);
    const { session_id, run_id, client } = await launch(fixture, { query: 'hi' }, 'waiting_input');
    const ofType = await fixture.subscribe({ event_types: ['approval_resolved', 'no_such_type'] });
    const ofSession = await fixture.subscribe({ session_id });
    const ofRun = await fixture.subscribe({ run_id, event_types: ['conversation_updated'] });
    const ofNobody = await fixture.subscribe({ session_id: 'other' });
    const all = await fixture.subscribe();
    await client.call('sendDecision', {
      approval_id: await pendingApproval(client, session_id),
      decision: 'approve',
    });
    await all.waitForStatus(session_id, 'completed');
    const child = objectOf(await client.call('continueSession', { session_id, query: 'more' }));
    await all.waitForStatus(String(child.session_id), 'completed');
    expect(ofType.events.map(({ type }) => type)).toEqual(['approval_resolved']);
    expect(ofSession.events.every(({ data }) => data.session_id === session_id)).toBe(true);
    expect(ofSession.events.at(-1)?.data.new_status).toBe('completed');
    expect(ofRun.events.map(({ data }) => data.event_type)).toEqual(['tool_result', 'message']);
    expect(ofNobody.events).toEqual([]);
  });

  it('sends heartbeats', async () => {
    const subscriber = await (await hldFixture([], { hld: { heartbeatMs: 15 } })).subscribe();
    await subscriber.until(() => (beatsIn(subscriber.lines) >= 3 ? true : undefined));
    expect(results(subscriber)[1]).toEqual({ type: 'heartbeat', message: 'Connection alive' });
  });

  it('sends a heartbeat every 30 seconds, regardless of other events', () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const lines: string[] = [];
    const subscriptions = new Subscriptions({ heartbeatMs: DEFAULT_HEARTBEAT_MS, now: Date.now });
    subscriptions.add({}, ({ bytes }) => lines.push(bytes.toString()));
    const event = { type: 'new_approval', timestamp: '', data: { session_id: 'x' } } as const;
    for (let seconds = 0; seconds < 95; seconds += 5) {
      vi.advanceTimersByTime(5_000);
      subscriptions.publish(event, undefined);
    }
    expect(beatsIn(lines.join('').trim().split('\n'))).toBe(3);
    subscriptions.close();
  });

  it('takes over the connection: later requests are not answered', async () => {
    const fixture = await hldFixture([textAnswer('ok')]);
    const subscriber = await fixture.client();
    subscriber.write(
      '{"jsonrpc":"2.0","method":"Subscribe","id":1}\n{"jsonrpc":"2.0","method":"health","id":2}\n',
    );
    await subscriber.line(0);
    subscriber.write('{"jsonrpc":"2.0","method":"health","id":3}\nnonsense\n');
    const { session_id } = await launch(fixture, { query: 'hi' }, 'completed');
    await subscriber.waitForStatus(session_id, 'completed');
    expect(subscriber.lines.every((line) => JSON.parse(line).id === null)).toBe(true);
    expect(subscriber.lines.some((line) => line.includes('version'))).toBe(false);
  });

  it('ends when the client ends its input', async () => {
    const fixture = await hldFixture([]);
    const subscriber = await fixture.subscribe();
    expect(fixture.door.status()).toMatchObject({ subscribers: 1 });
    subscriber.socket.end();
    await subscriber.closed;
    await (await fixture.client()).call('health');
    expect(fixture.door.status()).toMatchObject({ subscribers: 0 });
  });

  it('with invalid parameters is refused, and the connection is closed', async () => {
    const client = await (await hldFixture([])).client();
    client.send({ jsonrpc: '2.0', method: 'Subscribe', params: { event_types: 'all' }, id: 7 });
    await client.closed;
    expect(client.lines.map((line) => JSON.parse(line))).toMatchObject([{ error: { code: -32602 }, id: 7 }]);
  });

  it('disconnects a client that does not read; the others receive everything', async () => {
    const text = 'x'.repeat(100_000);
    const fixture = await hldFixture(() => ({ ...textAnswer(text), pace: { chunkSize: 50_000 } }), {
      hld: { limits: { connectionBytes: 500_000 } },
    });
    const nonReading = await fixture.subscribe();
    nonReading.socket.pause();
    const subscriber = await fixture.subscribe();
    const pod = await fixture.host.create({ cwd: fixture.cwd, settings: { autoCompaction: false } });
    const runs = 20;
    for (let run = 0; run < runs; run += 1) {
      const { runId } = await pod.handle({ type: 'prompt', content: [{ type: 'text', text: 'again' }] });
      await subscriber.waitFor(({ data }) => data.new_status === 'completed' && data.run_id === runId);
    }
    expect(subscriber.events.filter(({ data }) => data.content === text)).toHaveLength(runs);
    expect(fixture.door.status()).toMatchObject({ subscribers: 1 });
    nonReading.socket.resume();
    await nonReading.closed;
    // It received a prefix of what the other client received: there is no gap.
    expect(nonReading.lines.slice(1)).toEqual(subscriber.lines.slice(1, nonReading.lines.length));
    expect(nonReading.events.length).toBeLessThan(subscriber.events.length);
  });
});

it('subscribers receive the last events before the door closes', async () => {
  const fixture = await hldFixture([STALLS]);
  const { session_id, subscribe: subscriber } = await launch(fixture, { query: 'hi' }, 'running');
  await fixture.host.shutdown();
  await fixture.door.close();
  await subscriber.closed;
  expect(subscriber.events.at(-1)?.data).toMatchObject({
    session_id,
    new_status: 'completed',
    detail: 'interrupted',
  });
});

it('a connection without a subscription receives no unsolicited lines', async () => {
  const fixture = await hldFixture([textAnswer('ok')], { hld: { heartbeatMs: 5 } });
  const client = await fixture.client();
  const { subscribe: subscriber } = await launch(fixture, { query: 'hi' }, 'completed');
  await subscriber.until(() =>
    results(subscriber).filter((result) => objectOf(result).type === 'heartbeat').length >= 2
      ? true
      : undefined,
  );
  await client.call('health');
  expect(client.lines).toHaveLength(1);
});

import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { objectOf } from '../../../src/base/index.ts';
import { DEFAULT_HEARTBEAT_MS } from '../../../src/protocols/hld/settings.ts';
import { Subscriptions } from '../../../src/protocols/hld/events/subscriptions.ts';
import { asks, type Client, hldStage, launch, pendingApproval, says, STALLS } from './fixture.ts';

const beatsIn = (lines: readonly string[]): number =>
  lines.filter((line) => line.includes('"heartbeat"')).length;

const results = (client: Client): readonly unknown[] => client.messages.map(({ result }) => result);

describe('Subscribe', () => {
  it('is confirmed, and every line on the connection is a response without an id', async () => {
    const stage = await hldStage([asks(), says('done')]);
    const { session_id, client, ear } = await launch(stage, { query: 'hi' }, 'waiting_input');
    await client.call('sendDecision', {
      approval_id: await pendingApproval(client, session_id),
      decision: 'approve',
    });
    await ear.hearStatus(session_id, 'completed');
    expect(results(ear)[0]).toEqual({
      subscription_id: expect.stringMatching(/^\d{14}-[0-9a-f]{16}$/),
      message: 'Subscription established. Waiting for events...',
    });
    for (const line of ear.lines) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0', id: null });
    expect(
      ear.events.map(({ type, data }) =>
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
    expect(ear.events.find(({ data }) => data.event_type === 'tool_call')?.data).toEqual({
      session_id,
      claude_session_id: expect.any(String),
      event_type: 'tool_call',
      content_type: 'tool_use',
      parent_tool_use_id: '',
      tool_id: expect.any(String),
      tool_name: 'bash',
      tool_input: { command: 'node -e 1' },
    });
    const numbers = ear.events.map(({ seq }) => seq ?? 0);
    expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
  });

  it('sends only the requested events: by types, session and run combined', async () => {
    const stage = await hldStage([asks(), says('one'), says('two'), asks(), says('three')]);
    const { session_id, run_id, client } = await launch(stage, { query: 'hi' }, 'waiting_input');
    const ofType = await stage.subscriber({ event_types: ['approval_resolved', 'no_such_type'] });
    const ofSession = await stage.subscriber({ session_id });
    const ofRun = await stage.subscriber({ run_id, event_types: ['conversation_updated'] });
    const ofNobody = await stage.subscriber({ session_id: 'other' });
    const all = await stage.subscriber();
    await client.call('sendDecision', {
      approval_id: await pendingApproval(client, session_id),
      decision: 'approve',
    });
    await all.hearStatus(session_id, 'completed');
    const child = objectOf(await client.call('continueSession', { session_id, query: 'more' }));
    await all.hearStatus(String(child.session_id), 'completed');
    expect(ofType.events.map(({ type }) => type)).toEqual(['approval_resolved']);
    expect(ofSession.events.every(({ data }) => data.session_id === session_id)).toBe(true);
    expect(ofSession.events.at(-1)?.data.new_status).toBe('completed');
    expect(ofRun.events.map(({ data }) => data.event_type)).toEqual(['tool_result', 'message']);
    expect(ofNobody.events).toEqual([]);
  });

  it('sends heartbeats', async () => {
    const ear = await (await hldStage([], { hld: { heartbeatMs: 15 } })).subscriber();
    await ear.until(() => (beatsIn(ear.lines) >= 3 ? true : undefined));
    expect(results(ear)[1]).toEqual({ type: 'heartbeat', message: 'Connection alive' });
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
    const stage = await hldStage([says('ok')]);
    const ear = await stage.client();
    ear.write('{"jsonrpc":"2.0","method":"Subscribe","id":1}\n{"jsonrpc":"2.0","method":"health","id":2}\n');
    await ear.line(0);
    ear.write('{"jsonrpc":"2.0","method":"health","id":3}\nnonsense\n');
    const { session_id } = await launch(stage, { query: 'hi' }, 'completed');
    await ear.hearStatus(session_id, 'completed');
    expect(ear.lines.every((line) => JSON.parse(line).id === null)).toBe(true);
    expect(ear.lines.some((line) => line.includes('version'))).toBe(false);
  });

  it('ends when the client ends its input', async () => {
    const stage = await hldStage([]);
    const ear = await stage.subscriber();
    expect(stage.door.status()).toMatchObject({ subscribers: 1 });
    ear.socket.end();
    await ear.closed;
    await (await stage.client()).call('health');
    expect(stage.door.status()).toMatchObject({ subscribers: 0 });
  });

  it('with invalid parameters is refused, and the connection is closed', async () => {
    const client = await (await hldStage([])).client();
    client.send({ jsonrpc: '2.0', method: 'Subscribe', params: { event_types: 'all' }, id: 7 });
    await client.closed;
    expect(client.lines.map((line) => JSON.parse(line))).toMatchObject([{ error: { code: -32602 }, id: 7 }]);
  });

  it('disconnects a client that does not read; the others receive everything', async () => {
    const text = 'x'.repeat(100_000);
    const stage = await hldStage(() => ({ ...says(text), pace: { chunkSize: 50_000 } }), {
      hld: { limits: { connectionBytes: 500_000 } },
    });
    const deaf = await stage.subscriber();
    deaf.socket.pause();
    const ear = await stage.subscriber();
    const pod = await stage.host.create({ cwd: stage.cwd, settings: { autoCompaction: false } });
    const runs = 20;
    for (let run = 0; run < runs; run += 1) {
      const { runId } = await pod.handle({ type: 'prompt', content: [{ type: 'text', text: 'again' }] });
      await ear.hear(({ data }) => data.new_status === 'completed' && data.run_id === runId);
    }
    expect(ear.events.filter(({ data }) => data.content === text)).toHaveLength(runs);
    expect(stage.door.status()).toMatchObject({ subscribers: 1 });
    deaf.socket.resume();
    await deaf.closed;
    // It received a prefix of what the other client received: there is no gap.
    expect(deaf.lines.slice(1)).toEqual(ear.lines.slice(1, deaf.lines.length));
    expect(deaf.events.length).toBeLessThan(ear.events.length);
  });
});

it('subscribers receive the last events before the door closes', async () => {
  const stage = await hldStage([STALLS]);
  const { session_id, ear } = await launch(stage, { query: 'hi' }, 'running');
  await stage.host.shutdown();
  await stage.door.close();
  await ear.closed;
  expect(ear.events.at(-1)?.data).toMatchObject({
    session_id,
    new_status: 'completed',
    detail: 'interrupted',
  });
});

it('a connection without a subscription receives no unsolicited lines', async () => {
  const stage = await hldStage([says('ok')], { hld: { heartbeatMs: 5 } });
  const client = await stage.client();
  const { ear } = await launch(stage, { query: 'hi' }, 'completed');
  await ear.until(() =>
    results(ear).filter((result) => objectOf(result).type === 'heartbeat').length >= 2 ? true : undefined,
  );
  await client.call('health');
  expect(client.lines).toHaveLength(1);
});

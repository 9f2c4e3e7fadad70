import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { SimAnswer } from '../../../src/sim/index.ts';
import { idleSnapshot } from '../../pod/crash/pod-reader.ts';
import { type Client, isState, type Line, podFixture } from './fixture.ts';

const ANSWERS: readonly SimAnswer[] = [
  {
    parts: [{ toolCall: { id: 'call_1', name: 'mine', arguments: { a: 1 } } }],
    fault: { kind: '529', times: 1, retryAfterSeconds: 0 },
  },
  { parts: [{ text: 'First.' }] },
  { parts: [{ text: 'Second.' }] },
  { parts: [{ toolCall: { id: 'call_2', name: 'mine', arguments: {} } }] },
  { parts: [{ text: 'A summary.' }] },
];
const MINE = { name: 'mine', description: 'A tool of the client.', parameters: { type: 'object' } };

describe('the extras', () => {
  it('every method works and is reported', async () => {
    const fixture = await podFixture(ANSWERS);
    const client = await fixture.socketClient();
    await client.sendRequest('subscribe', { name: 'ada' });
    await client.waitFor(({ event }) => event === 'snapshot');
    const next = following(client);

    await client.sendRequest('configure', {
      set: { mode: 'full-access', client_tools: [MINE], delivery: { follow_ups: 'all' } },
    });
    expect((await next('settings')).data).toMatchObject({
      settings: { mode: 'full-access', client_tools: [MINE], delivery: { follow_ups: 'all' } },
      by: 'ada',
    });
    await client.sendRequest('configure', { clear: ['name'] });
    expect((await next('settings')).data).not.toHaveProperty('settings.name');

    await client.sendRequest('set_todos', { items: [{ content: 'Look', status: 'pending' }] });
    expect((await next('todos')).data).toEqual({ items: [{ content: 'Look', status: 'pending' }] });

    await client.sendRequest('shell', { command: 'echo hello' });
    expect((await next('shell_start')).data).toMatchObject({
      command: 'echo hello',
      private: false,
      by: 'ada',
    });
    expect((await next('shell_end')).data).toMatchObject({
      status: 'done',
      is_error: false,
      output: expect.stringContaining('hello') as string,
    });
    expect((await next('user_message')).data).toMatchObject({ origin: 'shell' });
    await client.sendRequest('shell', { command: 'sleep 600', private: true });
    await next('shell_start');
    await client.sendRequest('abort_shell');
    expect((await next('shell_end')).data).toMatchObject({ status: 'cancelled', private: true });

    await client.sendRequest('ask', { tool: 'deploy', arguments: '{"to":"production"}', title: 'Deploy?' });
    const asked = await next('approval_request');
    expect(asked.data).toMatchObject({ tool: 'deploy', title: 'Deploy?' });
    await client.sendRequest('decide', {
      approval_id: idOf(asked, 'approval_id'),
      decision: 'approve',
      comment: 'go',
    });
    expect((await next('approval_resolved')).data).toMatchObject({
      status: 'approved',
      by: 'ada',
      comment: 'go',
    });

    await client.sendRequest('run', { input: 'Use your tool.' });
    expect((await next('retry')).data).toMatchObject({ attempt: 1, continuation: false });
    expect((await next('client_call')).data).toEqual({
      call_id: 'call_1',
      name: 'mine',
      arguments: '{"a":1}',
    });
    await client.sendRequest('tool_update', { call_id: 'call_1', text: 'half' });
    expect((await next('tool_update')).data).toEqual({ id: 'call_1', text: 'half' });
    await client.sendRequest('follow_up', { input: 'And then?' });
    expect((await next('queued')).data).toMatchObject({ lane: 'follow_up', text: 'And then?' });
    await client.sendRequest('run', { input: 'Not at all.', when_busy: 'queue' });
    const queued = await next('queued');
    await client.sendRequest('clear_queue', { queue_ids: [idOf(queued, 'queue_id')] });
    expect((await next('unqueued')).data).toEqual({ queue_ids: [idOf(queued, 'queue_id')] });
    await client.sendRequest('tool_result', { call_id: 'call_1', output: 'whole', is_error: false });
    expect((await next('tool_result')).data).toMatchObject({ id: 'call_1', output: 'whole', status: 'done' });
    expect((await next('user_message')).data).toMatchObject({
      text: 'And then?',
      origin: 'follow_up',
      by: 'ada',
    });
    expect((await next('run_end')).data).toMatchObject({ result: 'finished', turns: 3, tool_calls: 1 });

    const before = client.received.length;
    await client.sendRequest('run', { input: 'Once more.' });
    await next('client_call');
    await client.sendRequest('cancel');
    expect((await next('client_cancel')).data).toEqual({ call_id: 'call_2' });
    await client.waitFor(isState('idle'), before);

    await client.sendRequest('compact', { instructions: 'briefly' });
    expect((await next('compact_start')).data).toEqual({ reason: 'manual' });
    expect((await next('compact_end')).data).toMatchObject({ reason: 'manual' });
    await client.waitFor(isState('idle'), client.received.length - 1);
    await client.sendRequest('branch', { entry_id: 'root' });
    expect((await next('branched')).data).toMatchObject({ items: [] });
    await client.sendRequest('abort_retry');
    expect((await next('error')).data).toEqual({ code: 'conflict', message: 'no retry is pending' });
    await client.sendRequest('close');
    expect((await next('closed')).data).toEqual({ by: 'ada', door: 'pod' });
    await client.closed;
  });

  it('a rewind of another client is reported with its files; clients without extras receive nothing of it', async () => {
    const fixture = await podFixture([
      { parts: [{ toolCall: { name: 'write', arguments: { path: 'a.txt', content: 'a' } } }] },
      { parts: [{ text: 'Done.' }] },
    ]);
    const [plain, client] = [await fixture.socketClient(), await fixture.socketClient()];
    await client.sendRequest('subscribe', { name: 'ada' });
    await client.waitFor(({ event }) => event === 'snapshot');
    const next = following(client);
    await plain.sendRequest('run', { input: 'Write.' });
    await next('run_end');
    await idleSnapshot(fixture.pod);
    const before = plain.received.length;
    const { points } = await fixture.pod.rewindPoints();
    const [target = ''] = points.map(({ entryId }) => entryId);
    await fixture.pod.handle({ type: 'rewind', entryId: target }, { by: 'bob', door: 'control' });
    expect((await next('branched')).data).toMatchObject({ items: [] });
    expect((await next('rewound')).data).toEqual({
      target,
      parts: 'both',
      files: [{ path: join(fixture.cwd, 'a.txt'), outcome: 'removed' }],
      by: 'bob',
      door: 'control',
    });
    await plain.sendRequest('get_status');
    await plain.waitFor(({ event }) => event === 'status', before);
    const names = plain.received.slice(before).map(({ event }) => event);
    expect(names.filter((event) => event !== 'status')).toEqual([]);
  });

  it('refuse another command under the same key as a conflict, whatever the state of the pod', async () => {
    const fixture = await podFixture([{ parts: [{ text: 'It all' }], fault: { kind: 'stall', after: 1 } }]);
    const [plain, other] = [await fixture.socketClient(), await fixture.socketClient()];
    await other.sendRequest('subscribe', {}, { request_id: 'subscribed' });
    await other.waitFor(({ request_id }) => request_id === 'subscribed');
    const message = 'the idempotency key "k1" was used for another command: use a new key for each command';
    const keyed = { idempotency_key: 'k1' };
    // The same command under the same key is accepted, from this client and the other.
    for (const client of [plain, other]) {
      await client.sendRequest('configure', { set: { name: 'first' } }, keyed);
      await client.sendRequest('configure', { set: { name: 'second' } }, keyed);
      await client.sendRequest('cancel', {}, keyed);
    }
    await plain.sendRequest('run', { input: 'Go.' });
    await plain.waitFor(isState('running'));
    for (const method of ['run', 'resume', 'cancel', 'pause', 'steer'])
      await other.sendRequest(method, { input: 'Hello?' }, { ...keyed, request_id: method });
    await other.waitFor(({ request_id }) => request_id === 'steer');
    const errors = (client: Client) =>
      client.received.flatMap((line) => (line.event === 'error' ? [line.data] : []));
    expect(errors(plain)).toEqual([1, 2].map(() => ({ code: 'conflict', message })));
    expect(errors(other)).toEqual(Array.from({ length: 7 }, () => ({ code: 'conflict', message })));
    await plain.sendRequest('cancel', {}, { idempotency_key: 'k2' });
    await plain.waitFor(isState('idle'));
  });

  it('refuse a key that is not text, instead of ignoring it', async () => {
    const fixture = await podFixture([]);
    const client = await fixture.socketClient();
    await client.sendRequest('configure', { set: { name: 'x' } }, { idempotency_key: 7 });
    const line = await client.waitFor(({ event }) => event === 'error');
    expect(line.data).toMatchObject({ message: 'idempotency_key must be text of at most 1024 characters' });
  });

  it('ignore unknown keys in params, on both kinds of link, but refuse unknown settings', async () => {
    const image = { media_type: 'image/png', data: 'aGk=', alt: 'a picture' };
    const more = { trace_id: 7, options: { deep: true } };
    const fixture = await podFixture([{ parts: [{ text: 'One.' }] }, { parts: [{ text: 'Two.' }] }]);
    const [plain, extended] = [await fixture.socketClient(), await fixture.socketClient()];
    await extended.sendRequest('subscribe', { ...more });
    await extended.waitFor(({ event }) => event === 'snapshot');
    for (const client of [plain, extended]) {
      const from = client.received.length;
      await client.sendRequest('run', { input: 'Hello?', ...more, images: [image] });
      await client.waitFor(isState('idle'), from);
      for (const method of ['get_status', 'get_history']) await client.sendRequest(method, more);
      await client.waitFor(({ event }) => event === 'history', from);
    }
    await extended.sendRequest('set_todos', { items: [{ content: 'a', status: 'pending', id: 1 }], ...more });
    await extended.waitFor(({ event }) => event === 'todos');
    expect([...plain.received, ...extended.received].filter(({ event }) => event === 'error')).toEqual([]);
    await extended.sendRequest('configure', { set: { modle: 'x' } });
    const refused = await extended.waitFor(({ event }) => event === 'error');
    expect(refused.data).toMatchObject({ message: expect.stringContaining('modle is not a key') as string });
  });

  it('run a command once under the same key', async () => {
    const fixture = await podFixture([{ parts: [{ text: 'Once.' }] }]);
    const client = await fixture.socketClient();
    await client.sendRequest('subscribe', {});
    const line = { method: 'run', params: { input: 'Hello?' }, idempotency_key: 'k1' };
    await client.send(JSON.stringify({ ...line, request_id: 1 }));
    await client.send(JSON.stringify({ ...line, request_id: 2 }));
    const answers = await Promise.all(
      [1, 2].map((id) => client.waitFor(({ request_id }) => request_id === id)),
    );
    expect(answers.map(({ event }) => event)).toEqual(['accepted', 'accepted']);
    expect(answers[1]?.data).toEqual(answers[0]?.data);
    await client.waitFor(isState('idle'));
    expect(client.received.filter(({ event }) => event === 'run_start').length).toBe(1);
  });
});

/** The next line of an event, after all lines that were checked so far. */
function following(client: Client): (event: Line['event']) => Promise<Line> {
  let from = client.received.length;
  return async (event) => {
    const line = await client.waitFor((candidate) => candidate.event === event, from);
    from = client.received.indexOf(line) + 1;
    return line;
  };
}

function idOf({ data }: Line, key: string): string {
  return String((data as unknown as Record<string, unknown>)[key]);
}

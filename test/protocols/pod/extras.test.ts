import { describe, expect, it } from 'vitest';
import type { Answer } from '../../../src/sim/index.ts';
import { type Client, isState, type Line, podStage } from './fixture.ts';

const ANSWERS: readonly Answer[] = [
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
    const stage = await podStage(ANSWERS);
    const client = await stage.socketClient();
    await client.say('subscribe', { name: 'ada' });
    await client.hear(({ event }) => event === 'snapshot');
    const next = following(client);

    await client.say('configure', {
      set: { mode: 'full-access', client_tools: [MINE], delivery: { follow_ups: 'all' } },
    });
    expect((await next('settings')).data).toMatchObject({
      settings: { mode: 'full-access', client_tools: [MINE], delivery: { follow_ups: 'all' } },
      by: 'ada',
    });
    await client.say('configure', { clear: ['name'] });
    expect((await next('settings')).data).not.toHaveProperty('settings.name');

    await client.say('set_todos', { items: [{ content: 'Look', status: 'pending' }] });
    expect((await next('todos')).data).toEqual({ items: [{ content: 'Look', status: 'pending' }] });

    await client.say('shell', { command: 'echo hello' });
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
    await client.say('shell', { command: 'sleep 600', private: true });
    await next('shell_start');
    await client.say('abort_shell');
    expect((await next('shell_end')).data).toMatchObject({ status: 'cancelled', private: true });

    await client.say('ask', { tool: 'deploy', arguments: '{"to":"production"}', title: 'Deploy?' });
    const asked = await next('approval_request');
    expect(asked.data).toMatchObject({ tool: 'deploy', title: 'Deploy?' });
    await client.say('decide', {
      approval_id: idOf(asked, 'approval_id'),
      decision: 'approve',
      comment: 'go',
    });
    expect((await next('approval_resolved')).data).toMatchObject({
      status: 'approved',
      by: 'ada',
      comment: 'go',
    });

    await client.say('run', { input: 'Use your tool.' });
    expect((await next('retry')).data).toMatchObject({ attempt: 1, continuation: false });
    expect((await next('client_call')).data).toEqual({
      call_id: 'call_1',
      name: 'mine',
      arguments: '{"a":1}',
    });
    await client.say('tool_update', { call_id: 'call_1', text: 'half' });
    expect((await next('tool_update')).data).toEqual({ id: 'call_1', text: 'half' });
    await client.say('follow_up', { input: 'And then?' });
    expect((await next('queued')).data).toMatchObject({ lane: 'follow_up', text: 'And then?' });
    await client.say('run', { input: 'Not at all.', when_busy: 'queue' });
    const queued = await next('queued');
    await client.say('clear_queue', { queue_ids: [idOf(queued, 'queue_id')] });
    expect((await next('unqueued')).data).toEqual({ queue_ids: [idOf(queued, 'queue_id')] });
    await client.say('tool_result', { call_id: 'call_1', output: 'whole', is_error: false });
    expect((await next('tool_result')).data).toMatchObject({ id: 'call_1', output: 'whole', status: 'done' });
    expect((await next('user_message')).data).toMatchObject({
      text: 'And then?',
      origin: 'follow_up',
      by: 'ada',
    });
    expect((await next('run_end')).data).toMatchObject({ result: 'finished', turns: 3, tool_calls: 1 });

    const before = client.heard.length;
    await client.say('run', { input: 'Once more.' });
    await next('client_call');
    await client.say('cancel');
    expect((await next('client_cancel')).data).toEqual({ call_id: 'call_2' });
    await client.hear(isState('idle'), before);

    await client.say('compact', { instructions: 'briefly' });
    expect((await next('compact_start')).data).toEqual({ reason: 'manual' });
    expect((await next('compact_end')).data).toMatchObject({ reason: 'manual' });
    await client.hear(isState('idle'), client.heard.length - 1);
    await client.say('branch', { entry_id: 'root' });
    expect((await next('branched')).data).toMatchObject({ items: [] });
    await client.say('abort_retry');
    expect((await next('error')).data).toEqual({ code: 'conflict', message: 'no retry is pending' });
    await client.say('close');
    expect((await next('closed')).data).toEqual({ by: 'ada', door: 'pod' });
    await client.closed;
  });

  it('refuse another command under the same key as a conflict, whatever the state of the pod', async () => {
    const stage = await podStage([{ parts: [{ text: 'It all' }], fault: { kind: 'stall', after: 1 } }]);
    const [plain, other] = [await stage.socketClient(), await stage.socketClient()];
    await other.say('subscribe', {}, { request_id: 'subscribed' });
    await other.hear(({ request_id }) => request_id === 'subscribed');
    const message = 'the idempotency key "k1" was used for another command: use a new key for each command';
    const keyed = { idempotency_key: 'k1' };
    // The same command under the same key is accepted, from this client and the other.
    for (const client of [plain, other]) {
      await client.say('configure', { set: { name: 'first' } }, keyed);
      await client.say('configure', { set: { name: 'second' } }, keyed);
      await client.say('cancel', {}, keyed);
    }
    await plain.say('run', { input: 'Go.' });
    await plain.hear(isState('running'));
    for (const method of ['run', 'resume', 'cancel', 'pause', 'steer'])
      await other.say(method, { input: 'Hello?' }, { ...keyed, request_id: method });
    await other.hear(({ request_id }) => request_id === 'steer');
    const errors = (client: Client) =>
      client.heard.flatMap((line) => (line.event === 'error' ? [line.data] : []));
    expect(errors(plain)).toEqual([1, 2].map(() => ({ code: 'conflict', message })));
    expect(errors(other)).toEqual(Array.from({ length: 7 }, () => ({ code: 'conflict', message })));
    await plain.say('cancel', {}, { idempotency_key: 'k2' });
    await plain.hear(isState('idle'));
  });

  it('refuse a key that is not text, instead of ignoring it', async () => {
    const stage = await podStage([]);
    const client = await stage.socketClient();
    await client.say('configure', { set: { name: 'x' } }, { idempotency_key: 7 });
    const line = await client.hear(({ event }) => event === 'error');
    expect(line.data).toMatchObject({ message: 'idempotency_key must be text of at most 1024 characters' });
  });

  it('ignore unknown keys in params, on both kinds of link, but refuse unknown settings', async () => {
    const image = { media_type: 'image/png', data: 'aGk=', alt: 'a picture' };
    const more = { trace_id: 7, options: { deep: true } };
    const stage = await podStage([{ parts: [{ text: 'One.' }] }, { parts: [{ text: 'Two.' }] }]);
    const [plain, extended] = [await stage.socketClient(), await stage.socketClient()];
    await extended.say('subscribe', { ...more });
    await extended.hear(({ event }) => event === 'snapshot');
    for (const client of [plain, extended]) {
      const from = client.heard.length;
      await client.say('run', { input: 'Hello?', ...more, images: [image] });
      await client.hear(isState('idle'), from);
      for (const method of ['get_status', 'get_history']) await client.say(method, more);
      await client.hear(({ event }) => event === 'history', from);
    }
    await extended.say('set_todos', { items: [{ content: 'a', status: 'pending', id: 1 }], ...more });
    await extended.hear(({ event }) => event === 'todos');
    expect([...plain.heard, ...extended.heard].filter(({ event }) => event === 'error')).toEqual([]);
    await extended.say('configure', { set: { modle: 'x' } });
    const refused = await extended.hear(({ event }) => event === 'error');
    expect(refused.data).toMatchObject({ message: expect.stringContaining('modle is not a key') as string });
  });

  it('run a command once under the same key', async () => {
    const stage = await podStage([{ parts: [{ text: 'Once.' }] }]);
    const client = await stage.socketClient();
    await client.say('subscribe', {});
    const line = { method: 'run', params: { input: 'Hello?' }, idempotency_key: 'k1' };
    await client.send(JSON.stringify({ ...line, request_id: 1 }));
    await client.send(JSON.stringify({ ...line, request_id: 2 }));
    const answers = await Promise.all([1, 2].map((id) => client.hear(({ request_id }) => request_id === id)));
    expect(answers.map(({ event }) => event)).toEqual(['accepted', 'accepted']);
    expect(answers[1]?.data).toEqual(answers[0]?.data);
    await client.hear(isState('idle'));
    expect(client.heard.filter(({ event }) => event === 'run_start').length).toBe(1);
  });
});

/** The next line of an event, after all lines that were checked so far. */
function following(client: Client): (event: Line['event']) => Promise<Line> {
  let from = client.heard.length;
  return async (event) => {
    const line = await client.hear((candidate) => candidate.event === event, from);
    from = client.heard.indexOf(line) + 1;
    return line;
  };
}

function idOf({ data }: Line, key: string): string {
  return String((data as unknown as Record<string, unknown>)[key]);
}

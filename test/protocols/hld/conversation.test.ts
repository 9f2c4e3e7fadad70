import { describe, expect, it } from 'vitest';
import { type JsonObject, objectOf, stringOf } from '../../../src/base/index.ts';
import { conversationParts } from '../../../src/pod/history/index.ts';
import { APPROVAL_REQUEST, APPROVAL_RESPONSE, type Entry } from '../../../src/pod/session/index.ts';
import { wholeConversation } from '../../../src/protocols/hld/conversation/conversation.ts';
import { encode } from '../../../src/protocols/hld/events/encode.ts';
import { ProjectionState } from '../../../src/protocols/hld/events/projection-state.ts';
import { asks, type Client, hldFixture, launch, pendingApproval, textAnswer } from './fixture.ts';

async function conversation(client: Client, params: JsonObject): Promise<readonly JsonObject[]> {
  return objectOf(await client.call('getConversation', params)).events as readonly JsonObject[];
}

const short = (row: JsonObject): string => {
  const { sequence, event_type: type, role, content, tool_name: tool, tool_result_content: result } = row;
  return [sequence, type, `${stringOf(role)}:`, content ?? tool ?? result].join(' ');
};

it('what no person wrote is not sent as a message of the user, as in the stored conversation', () => {
  const projection = ProjectionState.before(
    { id: 's', before: undefined, publishedSeq: 0, last: 0 },
    undefined,
  );
  projection.isPrompted = true;
  const item = { type: 'message', role: 'user', content: [{ type: 'text', text: 'hello' }] } as const;
  const typed = { type: 'input', origin: 'steer', item, seq: 2 } as const;
  expect(encode(typed, projection, 0)).toMatchObject([{ data: { role: 'user', content: 'hello' } }]);
  const notice = { ...typed, origin: 'notice', customType: 'background-notice', seq: 3 } as const;
  expect(encode(notice, projection, 0)).toEqual([]);
});

describe('getConversation', () => {
  it('has a row for each message, thought, call and result', async () => {
    const fixture = await hldFixture([
      {
        parts: [
          { thinking: 'Which files?', signature: 's' },
          { text: 'I look.' },
          { toolCall: { name: 'ls', arguments: { path: '.' } } },
        ],
      },
      textAnswer('None.'),
    ]);
    const { session_id, client } = await launch(fixture, { query: 'What is here?' }, 'completed');
    const rows = await conversation(client, { session_id });
    expect(rows.map(short)).toEqual([
      '1 message user: What is here?',
      '2 thinking assistant: Which files?',
      '3 message assistant: I look.',
      '4 tool_call assistant: ls',
      expect.stringMatching(/^5 tool_result user: /),
      '6 message assistant: None.',
    ]);
    const [first, , , call, result] = rows;
    expect(first).toEqual({
      id: expect.any(Number),
      session_id,
      claude_session_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      sequence: 1,
      event_type: 'message',
      created_at: expect.stringMatching(/^[\d-]+T[\d:]+Z$/),
      role: 'user',
      content: 'What is here?',
      is_completed: false,
    });
    expect(call).toMatchObject({ tool_input_json: '{"path":"."}', is_completed: true });
    expect(result).toMatchObject({ tool_result_for_id: call?.tool_id, is_completed: false });
    expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
  });

  it("of a child starts with its ancestors' rows; by its Claude session id, it has only the child's", async () => {
    const fixture = await hldFixture([
      textAnswer('one'),
      textAnswer('two'),
      textAnswer('three'),
      textAnswer('aside'),
    ]);
    const {
      session_id: first,
      client,
      subscribe: subscriber,
    } = await launch(fixture, { query: 'a' }, 'completed');
    const continueSession = async (session_id: string, query: string) => {
      const child = objectOf(await client.call('continueSession', { session_id, query }));
      await subscriber.waitForStatus(stringOf(child.session_id), 'completed');
      return child;
    };
    const second = await continueSession(first, 'b');
    const third = await continueSession(stringOf(second.session_id), 'c');
    // Messages of the parent after the fork are not the child's.
    await continueSession(first, 'd');
    const rows = await conversation(client, { session_id: third.session_id ?? '' });
    expect(rows.map((row) => [row.session_id, short(row)])).toEqual([
      [first, '1 message user: a'],
      [first, '2 message assistant: one'],
      [second.session_id, '1 message user: b'],
      [second.session_id, '2 message assistant: two'],
      [third.session_id, '1 message user: c'],
      [third.session_id, '2 message assistant: three'],
    ]);
    const own = await conversation(client, {
      claude_session_id: third.claude_session_id ?? '',
      session_id: first,
    });
    expect(own).toEqual(rows.slice(4));
    expect(await conversation(client, { claude_session_id: 'unknown' })).toEqual([]);
  });

  it('shows the approval of a call while it is pending', async () => {
    const fixture = await hldFixture([asks(), textAnswer('done')]);
    const { session_id, client } = await launch(fixture, { query: 'hi' }, 'waiting_input');
    const rows = await conversation(client, { session_id });
    expect(rows.at(-1)).toMatchObject({
      event_type: 'tool_call',
      is_completed: false,
      approval_status: 'pending',
      approval_id: await pendingApproval(client, session_id),
    });
  });

  it('keeps the order of rows when results arrive out of order', async () => {
    const fixture = await hldFixture([
      {
        parts: [
          { toolCall: { name: 'bash', arguments: { command: 'node -e 1' } } },
          { toolCall: { name: 'ls', arguments: { path: '.' } } },
        ],
      },
      textAnswer('done'),
    ]);
    const {
      session_id,
      client,
      subscribe: subscriber,
    } = await launch(fixture, { query: 'hi' }, 'waiting_input');
    const before = await conversation(client, { session_id });
    await client.call('sendDecision', {
      approval_id: await pendingApproval(client, session_id),
      decision: 'approve',
    });
    await subscriber.waitForStatus(session_id, 'completed');
    const after = await conversation(client, { session_id });
    expect(after.slice(0, before.length).map(short)).toEqual(before.map(short));
    const resultIds = subscriber.events.flatMap(({ data }) => data.tool_result_for_id ?? []);
    expect(after.flatMap(({ tool_result_for_id: id }) => id ?? [])).toEqual(resultIds);
    expect(after.filter(({ event_type: type }) => type === 'tool_result')).toHaveLength(2);
  });

  it('refuses a missing id and an unknown id', async () => {
    const client = await (await hldFixture([])).client();
    expect((await client.reply('getConversation')).error).toMatchObject({
      code: -32602,
      message: 'either session_id or claude_session_id is required',
    });
    expect((await client.reply('getConversation', { session_id: 'x' })).error).toEqual({
      code: -32603,
      message: 'failed to get conversation: session not found: x',
    });
  });
});

describe('an approval is matched with its call', () => {
  const workplace = (id: number) => ({
    id: String(id),
    parentId: null,
    timestamp: '2026-01-01T00:00:00.123Z',
  });
  const called = (id: number, callId: string, name: string): Entry => ({
    ...workplace(id),
    type: 'message',
    message: {
      role: 'assistant',
      api: 'anthropic-messages',
      content: [{ type: 'toolCall', id: callId, name, arguments: {} }],
    },
  });
  const asked = (id: number, approvalId: string, about: JsonObject): Entry => ({
    ...workplace(id),
    ...APPROVAL_REQUEST.body({
      approvalId,
      requestedAt: '',
      tool: 'Bash',
      arguments: '{}',
      title: '',
      reason: '',
      ...about,
    }),
  });
  const settled = (id: number, approvalId: string): Entry => ({
    ...workplace(id),
    ...APPROVAL_RESPONSE.body({ approvalId, status: 'approved', at: '' }),
  });
  const links = (entries: readonly Entry[]) =>
    wholeConversation(conversationParts(entries, 's')).map(
      ({ tool_id: id, approval_id: approval, approval_status: status }) => [id, approval, status].join(' '),
    );

  it.each([
    ['the call first', [called(1, 'c', 'bash'), asked(2, 'a', { callId: 'c' }), settled(3, 'a')]],
    ['the approval first', [asked(1, 'a', { callId: 'c' }), called(2, 'c', 'bash'), settled(3, 'a')]],
    [
      'the approval and its answer first',
      [asked(1, 'a', { callId: 'c' }), settled(2, 'a'), called(3, 'c', 'bash')],
    ],
    ['by name, the call first', [called(1, 'c', 'bash'), asked(2, 'a', {}), settled(3, 'a')]],
    ['by name, the approval first', [asked(1, 'a', {}), settled(2, 'a'), called(3, 'c', 'bash')]],
  ])('%s', (_, entries) => {
    expect(links(entries)).toEqual(['c local-a approved']);
  });

  it('by name: the newest call without an approval', () => {
    expect(
      links([
        called(1, 'c', 'bash'),
        called(2, 'd', 'bash'),
        called(3, 'e', 'read'),
        asked(4, 'a', {}),
        asked(5, 'b', {}),
      ]),
    ).toEqual(['c local-b pending', 'd local-a pending', 'e  ']);
  });

  it('but not with an approval of a child pod', () => {
    expect(links([called(1, 'c', 'bash'), asked(2, 'a', { podId: 'child' })])).toEqual(['c  ']);
  });
});

it('a compaction is a system row', async () => {
  const long = 'word '.repeat(40_000);
  const fixture = await hldFixture([textAnswer(long), textAnswer('two'), textAnswer('the sum')]);
  const { session_id, client, subscribe: subscriber } = await launch(fixture, { query: 'a' }, 'completed');
  const pod = fixture.host.pod(session_id);
  const { runId } = await pod.handle({ type: 'prompt', content: [{ type: 'text', text: 'b' }] });
  await subscriber.waitFor(({ data }) => data.new_status === 'completed' && data.run_id === runId);
  await pod.handle({ type: 'compact' });
  const event = await subscriber.waitFor(({ data }) => data.event_type === 'system');
  expect(event.data).toMatchObject({ content_type: 'system', subtype: 'compact', content: 'the sum' });
  const rows = await conversation(client, { session_id });
  expect(rows.map(({ event_type: type, role }) => [type, role].join(' '))).toEqual([
    'message user',
    'message assistant',
    'message user',
    'message assistant',
    'system system',
  ]);
  expect(rows.at(-1)?.content).toBe('the sum');
});

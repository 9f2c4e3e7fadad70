import { describe, expect, it } from 'vitest';
import { type JsonObject, objectOf, stringOf } from '../../../src/base/index.ts';
import { ADA, promptCommand } from '../../pod/fixture.ts';
import {
  asks,
  calls,
  changesOf,
  type Client,
  hldFixture,
  launch,
  pendingApproval,
  textAnswer,
  STALLS,
  statusOf,
} from './fixture.ts';

async function approvals(client: Client, params?: JsonObject): Promise<readonly JsonObject[]> {
  return objectOf(await client.call('fetchApprovals', params)).approvals as readonly JsonObject[];
}

async function results(client: Client, session_id: string): Promise<readonly unknown[]> {
  const { events } = (await client.call('getConversation', { session_id })) as {
    events: readonly JsonObject[];
  };
  return events.flatMap(({ tool_result_content: content }) => content ?? []);
}

describe('fetchApprovals', () => {
  it('returns the approvals of one session or of all, oldest first; an empty list if there are none', async () => {
    const fixture = await hldFixture(({ messages }) =>
      messages.length > 1 ? textAnswer('done') : asks(`node ${messages.at(-1)?.text}`),
    );
    const idle = await fixture.client();
    expect(await approvals(idle)).toEqual([]);
    expect(await approvals(idle, { session_id: 'x' })).toEqual([]);
    const one = await launch(fixture, { query: 'one' }, 'waiting_input');
    const two = await launch(fixture, { query: 'two' }, 'waiting_input');
    expect(await approvals(idle)).toMatchObject([
      { session_id: one.session_id },
      { session_id: two.session_id },
    ]);
    expect(await approvals(idle, { session_id: two.session_id })).toEqual([
      {
        id: expect.stringMatching(/^local-/),
        run_id: two.run_id,
        session_id: two.session_id,
        tool_use_id: expect.any(String),
        status: 'pending',
        created_at: expect.any(String),
        tool_name: 'bash',
        tool_input: { command: 'node two' },
      },
    ]);
  });
});

describe('sendDecision', () => {
  it('approve: the call runs', async () => {
    const fixture = await hldFixture([
      asks(`node -e "require('fs').writeFileSync('made', 'yes')"`),
      calls('read', { path: 'made' }),
      textAnswer('done'),
    ]);
    const {
      session_id,
      client,
      subscribe: subscriber,
    } = await launch(fixture, { query: 'hi' }, 'waiting_input');
    const approval_id = await pendingApproval(client, session_id);
    expect(await client.call('sendDecision', { approval_id, decision: 'approve', comment: 'fine' })).toEqual({
      success: true,
    });
    await subscriber.waitForStatus(session_id, 'completed');
    expect(await results(client, session_id)).toEqual([expect.any(String), expect.stringContaining('yes')]);
    expect(changesOf(subscriber, session_id)).toEqual([
      'starting→running',
      'running→waiting_input',
      'waiting_input→running',
      'running→completed',
    ]);
    const resolved = await subscriber.waitFor(({ type }) => type === 'approval_resolved');
    expect(resolved.data).toEqual({
      approval_id,
      session_id,
      approved: true,
      response_text: 'fine',
      tool_use_id: expect.any(String),
    });
    expect(objectOf(objectOf(await client.call('getApproval', { approval_id })).approval)).toMatchObject({
      id: approval_id,
      status: 'approved',
      comment: 'fine',
      responded_at: expect.any(String),
    });
  });

  it('deny: the model receives the comment', async () => {
    const fixture = await hldFixture([asks(), textAnswer('done')]);
    const {
      session_id,
      client,
      subscribe: subscriber,
    } = await launch(fixture, { query: 'hi' }, 'waiting_input');
    const approval_id = await pendingApproval(client, session_id);
    expect(
      await client.call('sendDecision', { approval_id, decision: 'deny', comment: 'Use make instead.' }),
    ).toEqual({
      success: true,
    });
    await subscriber.waitForStatus(session_id, 'completed');
    expect(JSON.stringify(fixture.sim.requests.at(-1)?.body)).toContain(
      'The user denied this call: Use make instead.',
    );
    const { events } = (await client.call('getConversation', { session_id })) as {
      events: readonly JsonObject[];
    };
    expect(events.find(({ event_type: type }) => type === 'tool_call')).toMatchObject({
      approval_id,
      approval_status: 'denied',
      is_completed: true,
    });
  });

  it.each([
    [{}, 'approval_id is required'],
    [{ approval_id: 'x' }, 'decision is required'],
    [{ approval_id: 'x', decision: 'deny' }, 'comment is required for denial'],
    [{ approval_id: 'x', decision: 'deny', comment: '  ' }, 'comment is required for denial'],
    [{ approval_id: 'x', decision: 'respond' }, "invalid decision: respond (must be 'approve' or 'deny')"],
  ])('refuses %j', async (params, message) => {
    const { error } = await (await (await hldFixture([])).client()).reply('sendDecision', params);
    expect(error).toMatchObject({ code: -32602, message });
  });

  it('returns a result for an approval that cannot be decided', async () => {
    const fixture = await hldFixture([asks(), textAnswer('done')]);
    const {
      session_id,
      client,
      subscribe: subscriber,
    } = await launch(fixture, { query: 'hi' }, 'waiting_input');
    const approval_id = await pendingApproval(client, session_id);
    expect(await client.call('sendDecision', { approval_id: 'local-x', decision: 'approve' })).toEqual({
      success: false,
      error: 'failed to get approval: approval not found: local-x',
    });
    const both = await Promise.all(
      [client, await fixture.client()].map((one) =>
        one.call('sendDecision', { approval_id, decision: 'deny', comment: 'no' }),
      ),
    );
    expect(both).toContainEqual({ success: true });
    expect(both).toContainEqual({
      success: false,
      error: `failed to update approval: approval ${approval_id} already decided with status: denied`,
    });
    await subscriber.waitForStatus(session_id, 'completed');
  });
});

describe('parallel approvals', () => {
  it('are requested and decided one by one; the session waits until the last one is decided', async () => {
    const fixture = await hldFixture([
      {
        parts: [
          { toolCall: { name: 'bash', arguments: { command: 'node -e 1' } } },
          { toolCall: { name: 'bash', arguments: { command: 'node -e 2' } } },
        ],
      },
      textAnswer('done'),
    ]);
    const {
      session_id,
      client,
      subscribe: subscriber,
    } = await launch(fixture, { query: 'hi' }, 'waiting_input');
    for (const decided of [1, 2]) {
      const asked = await subscriber.until(
        () => subscriber.events.filter(({ type }) => type === 'new_approval')[decided - 1],
      );
      expect(
        await client.call('sendDecision', { approval_id: asked.data.approval_id, decision: 'approve' }),
      ).toEqual({
        success: true,
      });
    }
    await subscriber.waitForStatus(session_id, 'completed');
    expect(await results(client, session_id)).toHaveLength(2);
  });
});

describe('createApproval', () => {
  it('accepts many requests before a decision, and decisions in any order', async () => {
    const fixture = await hldFixture([textAnswer('ok')]);
    const { session_id, client } = await launch(fixture, { query: 'hi' }, 'completed');
    const ids: string[] = [];
    for (const tool_name of ['One', 'Two', 'Three'])
      ids.push(
        stringOf(
          objectOf(await client.call('createApproval', { run_id: session_id, tool_name, tool_input: {} }))
            .approval_id,
        ),
      );
    const [one, two, three] = ids;
    const decide = (approval_id: string | undefined, comment: string) =>
      client.call('sendDecision', { approval_id, decision: 'deny', comment });
    expect(await decide(two, 'second')).toEqual({ success: true });
    expect(await approvals(client, { session_id })).toMatchObject([{ id: one }, { id: three }]);
    await decide(three, 'third');
    await decide(one, 'first');
    for (const [approval_id, tool_name, comment] of [
      [one, 'One', 'first'],
      [two, 'Two', 'second'],
      [three, 'Three', 'third'],
    ])
      expect(await client.call('getApproval', { approval_id })).toMatchObject({
        approval: { id: approval_id, tool_name, status: 'denied', comment },
      });
  });

  it("requests approval for a client's call, by run or by session, and getApproval returns the decision", async () => {
    const fixture = await hldFixture([textAnswer('ok')]);
    const {
      session_id,
      run_id,
      client,
      subscribe: subscriber,
    } = await launch(fixture, { query: 'hi' }, 'completed');
    for (const [id, tool_use_id] of [[run_id], [session_id, 'toolu_1'], [session_id], [run_id, 'toolu_2']]) {
      const { approval_id } = objectOf(
        await client.call('createApproval', {
          run_id: id,
          tool_name: 'Bash',
          tool_input: { command: 'ls' },
          ...(tool_use_id && { tool_use_id }),
        }),
      );
      expect(await client.call('getApproval', { approval_id })).toEqual({
        approval: {
          id: approval_id,
          run_id,
          session_id,
          ...(tool_use_id && { tool_use_id }),
          status: 'pending',
          created_at: expect.any(String),
          tool_name: 'Bash',
          tool_input: { command: 'ls' },
        },
      });
      expect((await subscriber.waitFor(({ data }) => data.approval_id === approval_id)).data).toEqual({
        approval_id,
        session_id,
        tool_name: 'Bash',
      });
      await client.call('sendDecision', { approval_id, decision: 'deny', comment: 'no' });
      expect(await client.call('getApproval', { approval_id })).toMatchObject({
        approval: { status: 'denied', comment: 'no' },
      });
    }
    expect(await statusOf(client, session_id)).toBe('completed');
  });

  it('is decided at once if the session allows it', async () => {
    const fixture = await hldFixture([textAnswer('ok')]);
    const { session_id, client } = await launch(fixture, { query: 'hi' }, 'completed');
    const ask = async (tool_name: string) => {
      const { approval_id } = objectOf(
        await client.call('createApproval', {
          run_id: session_id,
          tool_name,
          tool_input: null,
          tool_use_id: tool_name,
        }),
      );
      const { approval } = objectOf(await client.call('getApproval', { approval_id }));
      return [objectOf(approval).status, objectOf(approval).comment, objectOf(approval).tool_input];
    };
    await client.call('updateSessionSettings', { session_id, auto_accept_edits: true });
    expect(await ask('MultiEdit')).toEqual(['approved', 'Auto-accepted (auto-accept mode enabled)', null]);
    expect(await ask('NotebookEdit')).toEqual(['pending', undefined, null]);
    await client.call('updateSessionSettings', { session_id, dangerously_skip_permissions: true });
    expect(await ask('Bash')).toEqual([
      'approved',
      'Auto-accepted (dangerous skip permissions enabled)',
      null,
    ]);
  });

  it.each([
    ['Write', { auto_accept_edits: true }, 'Auto-accepted (auto-accept mode enabled)'],
    ['Bash', { dangerously_skip_permissions: true }, 'Auto-accepted (dangerous skip permissions enabled)'],
  ])(
    'for %s under %j is reported as requested and resolved, and the session does not wait',
    async (tool_name, settings, text) => {
      const fixture = await hldFixture([STALLS]);
      const { session_id, client, subscribe: subscriber } = await launch(fixture, { query: 'hi' }, 'running');
      await client.call('updateSessionSettings', { session_id, ...settings });
      const { approval_id } = objectOf(
        await client.call('createApproval', {
          run_id: session_id,
          tool_name,
          tool_input: {},
          tool_use_id: 'toolu_1',
        }),
      );
      await subscriber.waitFor(({ type }) => type === 'approval_resolved');
      await client.call('interruptSession', { session_id });
      await subscriber.waitForStatus(session_id, 'interrupted');
      expect(subscriber.events.filter(({ data }) => data.approval_id === approval_id)).toMatchObject([
        { type: 'new_approval', data: { session_id, tool_name } },
        {
          type: 'approval_resolved',
          data: { session_id, approved: true, response_text: text, tool_use_id: 'toolu_1' },
        },
      ]);
      expect(changesOf(subscriber, session_id)).toEqual([
        'starting→running',
        'running→interrupting',
        'running→interrupted',
      ]);
    },
  );

  it.each([
    [{}, -32602, 'run_id is required'],
    [{ run_id: 'x' }, -32602, 'tool_name is required'],
    [{ run_id: 'x', tool_name: 'Bash' }, -32602, 'tool_input is required'],
    [
      { run_id: 'x', tool_name: 'Bash', tool_input: {} },
      -32603,
      'failed to create approval: session not found for run_id: x',
    ],
    [
      { run_id: 'x', tool_name: 'Bash', tool_input: {}, tool_use_id: 't' },
      -32603,
      'failed to create approval with tool use ID: failed to get session: session not found: x',
    ],
  ])('refuses %j', async (params, code, message) => {
    const { error } = await (await (await hldFixture([])).client()).reply('createApproval', params);
    expect(error).toMatchObject({ code, message });
  });

  it('getApproval refuses an unknown id and a missing id', async () => {
    const client = await (await hldFixture([])).client();
    expect((await client.reply('getApproval', { approval_id: 'local-x' })).error).toEqual({
      code: -32603,
      message: 'failed to get approval: failed to get approval: approval not found: local-x',
    });
    expect((await client.reply('getApproval', {})).error).toMatchObject({
      code: -32602,
      message: 'approval_id is required',
    });
  });
});

it('an approval of a cancelled run is resolved, and a decision has no effect', async () => {
  const { host, cwd, client: open, subscribe } = await hldFixture([asks(), textAnswer('never')]);
  const [client, subscriber] = [await open(), await subscribe()];
  const pod = await host.create({ cwd });
  await pod.handle(promptCommand('go'), ADA);
  await subscriber.waitForStatus(pod.id, 'waiting_input');
  const approval_id = await pendingApproval(client, pod.id);
  await pod.handle({ type: 'cancel' }, ADA);
  await subscriber.waitForStatus(pod.id, 'interrupted');
  expect(await client.call('sendDecision', { approval_id, decision: 'approve' })).toEqual({
    success: false,
    error: `failed to update approval: approval ${approval_id} already decided with status: resolved`,
  });
  expect(await statusOf(client, pod.id)).toBe('interrupted');
  const { events } = (await client.call('getConversation', { session_id: pod.id })) as {
    events: readonly JsonObject[];
  };
  expect(events.find(({ event_type: type }) => type === 'tool_call')).toMatchObject({
    approval_status: 'resolved',
  });
  expect(stringOf(approval_id)).toMatch(/^local-/);
});

it('an approval that times out is resolved and not approved', async () => {
  const { host, cwd, client: open, subscribe } = await hldFixture([]);
  const [client, subscriber] = [await open(), await subscribe()];
  const pod = await host.create({ cwd });
  const deadline = new Date(Date.now() + 20).toISOString();
  await pod.handle({ type: 'ask', tool: 'bash', arguments: '{}', deadline, fallback: 'deny' }, ADA);
  const { data } = await subscriber.waitFor(({ type }) => type === 'approval_resolved');
  expect(data).toMatchObject({ session_id: pod.id, approved: false });
  expect(await client.call('getApproval', { approval_id: data.approval_id })).toMatchObject({
    approval: { status: 'resolved' },
  });
});

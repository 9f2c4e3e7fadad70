import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type JsonObject,
  type LogEntry,
  createLog,
  objectOf,
  redactor,
  shape,
  stringOf,
} from '../../../src/base/index.ts';
import type { AgentContext } from '../../../src/pod/index.ts';
import { defineTool, textOutput } from '../../../src/tools/index.ts';
import { agentsOn, scratch } from '../../pod/fixture.ts';
import {
  asks,
  calls,
  changesOf,
  Client,
  type HldFixture,
  hldFixture,
  launch,
  openDoor,
  textAnswer,
  STALLS,
} from './fixture.ts';

const system = ({ sim }: HldFixture): string => JSON.stringify(objectOf(sim.requests.at(-1)?.body).system);

async function session(fixture: HldFixture, id: string): Promise<JsonObject> {
  const client = await fixture.client();
  return objectOf(objectOf(await client.call('getSessionState', { session_id: id })).session);
}

describe('launchSession', () => {
  it('starts a session with the requested directory, title and model', async () => {
    const fixture = await hldFixture([textAnswer('Hello.')]);
    const directory = join(fixture.cwd, 'deep');
    mkdirSync(directory);
    const query = `Say  hello\n${'very '.repeat(20)}kindly`;
    const { session_id, run_id } = await launch(
      fixture,
      { query, title: 'Greeting', model: 'haiku', working_dir: '~/deep', verbose: true, unknown: 1 },
      'completed',
    );
    expect(await session(fixture, session_id)).toMatchObject({
      id: session_id,
      run_id,
      status: 'completed',
      query,
      summary: 'Say hello very very very very very very very ve...',
      title: 'Greeting',
      working_dir: directory,
    });
    const { sessions } = (await (await fixture.client()).call('listSessions')) as { sessions: JsonObject[] };
    expect(sessions).toMatchObject([
      {
        id: session_id,
        model: 'haiku',
        model_id: 'haiku',
        result: {
          type: 'result',
          subtype: 'session_completed',
          is_error: false,
          num_turns: 1,
          result: 'Hello.',
        },
      },
    ]);
    expect(sessions[0]?.claude_session_id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8/);
  });

  it('sends the system prompt, its addition and the custom instructions to the model', async () => {
    const fixture = await hldFixture([textAnswer('ok')]);
    await launch(
      fixture,
      {
        query: 'hi',
        system_prompt: 'You are a cook.',
        append_system_prompt: 'Be kind.',
        custom_instructions: 'No salt.',
      },
      'completed',
    );
    expect(system(fixture)).toContain(
      'You are a cook.\\n\\nBe kind.\\n\\n# Custom instructions\\n\\nNo salt.',
    );
  });

  it('fails after max_turns, with a reason', async () => {
    const fixture = await hldFixture([
      calls('ls', { path: '.' }),
      calls('ls', { path: '.' }),
      textAnswer('never'),
    ]);
    const { session_id } = await launch(fixture, { query: 'hi', max_turns: 2 }, 'failed');
    expect(await session(fixture, session_id)).toMatchObject({
      status: 'failed',
      error_message: 'the run has reached its limit of 2 turns',
    });
  });

  it('requests no approval for allowed_tools, and denies disallowed_tools', async () => {
    const fixture = await hldFixture([
      asks('node -e 1'),
      calls('write', { path: 'x', content: 'y' }),
      textAnswer('done'),
    ]);
    const { session_id, client } = await launch(
      fixture,
      { query: 'hi', allowed_tools: ['Bash(node:*)'], disallowed_tools: ['Write'] },
      'completed',
    );
    const { events } = (await client.call('getConversation', { session_id })) as { events: JsonObject[] };
    const results = events.flatMap(({ tool_result_content: content }) => content ?? []);
    expect(results).toEqual(['(no output)', 'Tool write not found']);
    expect(events.some(({ approval_id: id }) => id !== undefined)).toBe(false);
  });

  it.each([['Write'], ['Write(x)'], ['*']])(
    'never runs disallowed_tools (%s), even if edits are accepted',
    async (forbidden) => {
      const fixture = await hldFixture([
        asks(),
        calls('write', { path: 'x', content: 'y' }),
        textAnswer('done'),
      ]);
      const {
        session_id,
        client,
        subscribe: subscriber,
      } = await launch(
        fixture,
        { query: 'hi', allowed_tools: ['Write'], disallowed_tools: [forbidden] },
        forbidden === '*' ? 'running' : 'waiting_input',
      );
      await client.call('updateSessionSettings', { session_id, auto_accept_edits: true });
      const { approvals } = (await client.call('fetchApprovals')) as { approvals: { id: string }[] };
      for (const { id } of approvals)
        await client.call('sendDecision', { approval_id: id, decision: 'approve' });
      await subscriber.waitForStatus(session_id, 'completed');
      expect(existsSync(join(fixture.cwd, 'x'))).toBe(false);
    },
  );

  it('logs the events of a verbose session without the text of the conversation', async () => {
    const entries: LogEntry[] = [];
    const log = createLog({
      sinks: [(entry) => entries.push(entry)],
      level: () => 'info',
      redact: () => redactor([]),
    });
    const fixture = await hldFixture([asks(), textAnswer('one'), textAnswer('two')], { hld: { log } });
    const {
      session_id,
      client,
      subscribe: subscriber,
    } = await launch(fixture, { query: 'hi', verbose: true }, 'waiting_input');
    const { approvals } = (await client.call('fetchApprovals')) as { approvals: { id: string }[] };
    await client.call('sendDecision', { approval_id: approvals[0]?.id, decision: 'approve' });
    await subscriber.waitForStatus(session_id, 'completed');
    await launch(fixture, { query: 'quiet' }, 'completed');
    expect(entries.map(({ fields }) => [fields.session_id, fields.type])).toEqual(
      subscriber.events.flatMap(({ type, data }) =>
        data.session_id === session_id ? [[session_id, type]] : [],
      ),
    );
    expect(JSON.stringify(entries)).not.toMatch(/node -e|one/);
  });

  it('grants access to additional_directories', async () => {
    const other = scratch();
    const fixture = await hldFixture([
      calls('write', { path: join(other, 'x'), content: 'y' }),
      textAnswer('done'),
    ]);
    const { session_id, client } = await launch(
      fixture,
      { query: 'hi', additional_directories: [other], allowed_tools: ['Write'] },
      'completed',
    );
    const { events } = (await client.call('getConversation', { session_id })) as { events: JsonObject[] };
    expect(events.find(({ event_type: type }) => type === 'tool_result')).toMatchObject({
      tool_result_content: expect.stringContaining('x'),
    });
  });

  it('passes mcp_config to the agent, as an object or as text; without servers it means none', async () => {
    const workplaces: AgentContext[] = [];
    const fixture = await hldFixture([textAnswer('one'), textAnswer('two'), textAnswer('three')], {});
    const host = await fixture.reopen({
      directory: scratch(),
      agents: async (workplace) => {
        workplaces.push(workplace);
        return agentsOn(fixture.sim)(workplace);
      },
    });
    const path = join(scratch(), 's');
    const door = await openDoor(host, path, fixture.cwd);
    const client = await Client.open(path);
    const config = { mcpServers: { files: { command: 'x' } } };
    for (const mcp_config of [
      config,
      JSON.stringify(config),
      {},
      { mcpServers: { codelayer: { command: 'hlyr' } } },
      '',
    ])
      await client.call('launchSession', { query: 'hi', mcp_config });
    expect(workplaces.map((workplace) => workplace.settings().mcpConfig)).toEqual([
      config,
      config,
      undefined,
      undefined,
      undefined,
    ]);
    await door.close();
  });

  it('skips permissions for the given time', async () => {
    const fixture = await hldFixture([asks(), textAnswer('done')]);
    const { session_id } = await launch(
      fixture,
      { query: 'hi', dangerously_skip_permissions: true, dangerously_skip_permissions_timeout: 600_000 },
      'completed',
    );
    const state = await session(fixture, session_id);
    expect(state).toMatchObject({ dangerously_skip_permissions: true });
    const left = Date.parse(stringOf(state.dangerously_skip_permissions_expires_at)) - Date.now();
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(600_000);
  });

  it('ignores an unknown model', async () => {
    const fixture = await hldFixture([textAnswer('ok')]);
    const { session_id } = await launch(fixture, { query: 'hi', model: 'nothing' }, 'completed');
    expect(await session(fixture, session_id)).toMatchObject({ model: 'sim' });
  });

  it.each([
    [{}, -32602, 'query is required'],
    [{ query: '' }, -32602, 'query is required'],
    [
      { query: 'x', max_turns: 'many' },
      -32602,
      'invalid request: max_turns must be a whole number from 0 on, not a string',
    ],
    [
      { query: 'x', allowed_tools: 'Bash' },
      -32602,
      'invalid request: allowed_tools must be a list of strings, not a string',
    ],
    [{ query: 'x', mcp_config: '{' }, -32602, 'invalid mcp_config JSON: { is not JSON'],
    [{ query: 'x', mcp_config: 7 }, -32602, 'invalid request: mcp_config must be an object'],
    [{ query: 'x', title: 't'.repeat(10_001) }, -32602, 'title must be at most 10000 characters long'],
    [{ query: 'x', allowed_tools: ['Bash( )'] }, -32602, 'blank'],
    [{ query: 'x', additional_directories: [''] }, -32602, 'additional_directories must be paths of 1 to'],
    [{ query: 'x', working_dir: '/no/where' }, -32602, 'working directory does not exist: /no/where'],
    [{ query: 'x', working_dir: '~/file' }, -32602, 'working directory path exists but is not a directory: '],
  ])('refuses %j, and creates no session', async (params, code, message) => {
    const fixture = await hldFixture([]);
    writeFileSync(join(fixture.cwd, 'file'), '');
    const client = await fixture.client();
    const { error } = await client.reply('launchSession', params);
    expect(error).toMatchObject({ code, message: expect.stringContaining(message) });
    expect(await client.call('listSessions')).toEqual({ sessions: [] });
  });

  it('leaves a failed session with the reason if it cannot start', async () => {
    const fixture = await hldFixture([], {
      agent: {
        model: async () => {
          throw new Error('there is no key for sim');
        },
      },
    });
    const client = await fixture.client();
    const subscriber = await fixture.subscribe();
    const { error } = await client.reply('launchSession', { query: 'hi' });
    expect(error).toEqual({
      code: -32603,
      message: 'failed to launch Claude session: there is no key for sim',
    });
    const { sessions } = (await client.call('listSessions')) as { sessions: JsonObject[] };
    expect(sessions).toMatchObject([
      { status: 'failed', error: 'failed to launch Claude session: there is no key for sim' },
    ]);
    await subscriber.waitForStatus(stringOf(sessions[0]?.id), 'failed');
    expect(changesOf(subscriber, stringOf(sessions[0]?.id))).toEqual(['starting→failed']);
  });
});

describe('permission_prompt_tool', () => {
  const decides = (answer: (input: JsonObject) => string) =>
    defineTool({
      name: 'mcp__gate__ask',
      description: 'Decides.',
      input: shape.fields({ tool_name: shape.text(), input: shape.anyObject, tool_use_id: shape.text() }, {}),
      parallel: true,
      access: () => [],
      title: () => 'ask',
      run: async (input) => textOutput('asked', answer(input)),
    });

  it.each([
    [
      'lets a call through',
      () => '{"behavior":"allow","updatedInput":{"command":"echo changed"}}',
      'changed',
    ],
    ['denies a call with its message', () => '{"behavior":"deny","message":"Not today."}', 'Not today.'],
    ['denies a call when it answers nonsense', () => 'maybe', 'neither "allow" nor "deny"'],
  ])('%s', async (_, answer, result) => {
    const fixture = await hldFixture([asks('node -e 1'), textAnswer('done')], { tools: [decides(answer)] });
    const { session_id, client } = await launch(
      fixture,
      { query: 'hi', permission_prompt_tool: 'mcp__gate__ask' },
      'completed',
    );
    const { events } = (await client.call('getConversation', { session_id })) as { events: JsonObject[] };
    expect(events.find(({ event_type: type }) => type === 'tool_result')).toMatchObject({
      tool_result_content: expect.stringContaining(result),
    });
  });

  it('refuses the launch by name if it does not exist', async () => {
    const fixture = await hldFixture([]);
    const { error } = await (await fixture.client()).reply('launchSession', {
      query: 'hi',
      permission_prompt_tool: 'mcp__x__y',
    });
    expect(error).toMatchObject({
      code: -32603,
      message:
        'failed to launch Claude session: the permission tool mcp__x__y does not exist. Available MCP tools: none',
    });
  });

  it("is inherited until a call names HumanLayer's tool", async () => {
    const tool = decides(() => '{"behavior":"allow"}');
    const fixture = await hldFixture(
      [textAnswer('one'), asks(), textAnswer('two'), asks(), textAnswer('three')],
      {
        tools: [tool],
      },
    );
    const {
      session_id,
      client,
      subscribe: subscriber,
    } = await launch(fixture, { query: 'hi', permission_prompt_tool: 'mcp__gate__ask' }, 'completed');
    const continueSession = async (more: JsonObject) =>
      stringOf(
        objectOf(await client.call('continueSession', { session_id, query: 'on', ...more })).session_id,
      );
    await subscriber.waitForStatus(await continueSession({}), 'completed');
    const native = await continueSession({ permission_prompt_tool: 'mcp__codelayer__request_permission' });
    await subscriber.waitForStatus(native, 'waiting_input');
  });

  it('of HumanLayer is replaced by our own approvals', async () => {
    const fixture = await hldFixture([asks(), textAnswer('done')]);
    await launch(
      fixture,
      { query: 'hi', permission_prompt_tool: 'mcp__codelayer__request_permission' },
      'waiting_input',
    );
  });
});

describe('continueSession', () => {
  it("continues in a child with the parent's settings", async () => {
    const fixture = await hldFixture([textAnswer('one'), textAnswer('two'), textAnswer('three')]);
    const {
      session_id,
      client,
      subscribe: subscriber,
    } = await launch(
      fixture,
      {
        query: 'first',
        title: 'Title',
        model: 'opus',
        system_prompt: 'You are a cook.',
        append_system_prompt: 'Be kind.',
        custom_instructions: 'No salt.',
        max_turns: 1,
        disallowed_tools: ['Bash'],
      },
      'completed',
    );
    await client.call('archiveSession', { session_id, archived: true });
    const child = objectOf(
      await client.call('continueSession', {
        session_id,
        query: 'second',
        append_system_prompt: 'Be short.',
      }),
    );
    expect(child).toEqual({
      session_id: expect.any(String),
      run_id: expect.any(String),
      claude_session_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      parent_session_id: session_id,
    });
    await subscriber.waitForStatus(stringOf(child.session_id), 'completed');
    expect(changesOf(subscriber, stringOf(child.session_id))).toEqual([
      'starting→running',
      'running→completed',
    ]);
    expect(
      subscriber.events.find(
        ({ data }) => data.session_id === child.session_id && data.new_status === 'running',
      ),
    ).toMatchObject({
      data: { parent_session_id: session_id, run_id: child.run_id },
    });
    expect(await session(fixture, stringOf(child.session_id))).toMatchObject({
      parent_session_id: session_id,
      query: 'second',
      title: 'Title',
      model: 'opus',
      archived: false,
    });
    expect(system(fixture)).toContain(
      'You are a cook.\\n\\nBe short.\\n\\n# Custom instructions\\n\\nNo salt.',
    );
    expect(await session(fixture, session_id)).toMatchObject({
      query: 'first',
      archived: true,
      status: 'completed',
    });
  });

  it('ends a running parent first', async () => {
    const fixture = await hldFixture([STALLS, textAnswer('two')]);
    const {
      session_id,
      client,
      subscribe: subscriber,
    } = await launch(fixture, { query: 'first' }, 'running');
    const child = objectOf(await client.call('continueSession', { session_id, query: 'second' }));
    await subscriber.waitForStatus(stringOf(child.session_id), 'completed');
    expect(changesOf(subscriber, session_id)).toEqual([
      'starting→running',
      'running→interrupting',
      'running→interrupted',
    ]);
  });

  it('counts its own usage', async () => {
    const usage = { inputTokens: 100, outputTokens: 10 };
    const fixture = await hldFixture([
      { ...textAnswer('one'), usage },
      { ...textAnswer('two'), usage },
    ]);
    const {
      session_id,
      client,
      subscribe: subscriber,
    } = await launch(fixture, { query: 'first' }, 'completed');
    const child = objectOf(await client.call('continueSession', { session_id, query: 'second' }));
    await subscriber.waitForStatus(stringOf(child.session_id), 'completed');
    expect(await session(fixture, stringOf(child.session_id))).toMatchObject({
      input_tokens: 100,
      output_tokens: 10,
      total_tokens: 110,
    });
  });

  it.each([
    [{}, -32602, 'session_id is required'],
    [{ session_id: 'x' }, -32602, 'query is required'],
    [{ session_id: 'x', query: 'y', mcp_config: '{' }, -32602, 'invalid mcp_config JSON: '],
    [{ session_id: 'x', query: 'y' }, -32603, 'failed to get parent session: session not found: x'],
  ])('refuses %j', async (params, code, message) => {
    const { error } = await (await (await hldFixture([])).client()).reply('continueSession', params);
    expect(error).toMatchObject({ code, message: expect.stringContaining(message) });
  });

  it('refuses a session that waits for a decision', async () => {
    const fixture = await hldFixture([asks(), textAnswer('done')]);
    const { session_id, client } = await launch(fixture, { query: 'hi' }, 'waiting_input');
    const { error } = await client.reply('continueSession', { session_id, query: 'more' });
    expect(error).toEqual({
      code: -32603,
      message:
        'cannot continue session with status waiting_input (must be completed, interrupted, running, or failed)',
    });
  });
});

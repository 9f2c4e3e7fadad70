import { describe, expect, it } from 'vitest';
import { isObject, type JsonObject } from '../../../../src/base/index.ts';
import type { SimAnswer } from '../../../../src/sim/index.ts';
import { type Program, programFixture } from '../program.ts';
import type { RpcFixtureOptions } from '../fixture.ts';
import { violations } from './strict-reader.ts';

const OK = { parts: [{ text: 'ok' }] };
const call = (name: string, args: object): SimAnswer => ({
  parts: [{ toolCall: { name, arguments: args } }],
});

/** Plays a session, and validates every byte of the program's output as a strict client does. */
async function read(
  script: readonly SimAnswer[],
  play: (client: Program) => Promise<unknown>,
  options: RpcFixtureOptions = {},
): Promise<readonly JsonObject[]> {
  const { client } = await programFixture(script, options);
  await play(client);
  const { code, stdout } = await client.end();
  expect(code).toBe(0);
  const lines = stdout.split('\n');
  expect(lines.pop()).toBe('');
  return lines.map((line) => {
    const value: unknown = JSON.parse(line);
    if (!isObject(value)) throw new Error(`not an object: ${line}`);
    return value;
  });
}

describe('a strict reader', () => {
  it('accepts runs with thinking, tools and host tools', async () => {
    const lines = await read(
      [
        { parts: [{ thinking: 'hm' }, { redacted: 'secret' }, { text: 'Hello' }] },
        call('bash', { command: 'echo hi; echo ho >&2' }),
        call('echo_host', { message: 'hello' }),
        call('no_such_tool', {}),
        OK,
      ],
      async (client) => {
        const parameters = { type: 'object', properties: { message: { type: 'string' } } };
        await client.get('set_host_tools', {
          tools: [{ name: 'echo_host', description: 'Echoes.', parameters }],
        });
        await client.run('one');
        client.send({ type: 'prompt', message: 'two' });
        const { id } = await client.waitFor(({ type }) => type === 'host_tool_call');
        const content = [{ type: 'text', text: 'done' }];
        client.send({ type: 'host_tool_update', id, partialResult: { content } });
        client.send({ type: 'host_tool_result', id, result: { content } });
        await client.quiet(client.lines.findIndex(({ type }) => type === 'host_tool_call'));
        for (const type of ['get_state', 'get_messages', 'get_session_stats', 'get_last_assistant_text'])
          await client.get(type);
      },
    );
    expect(violations(lines)).toEqual([]);
  });

  it('accepts the response of every command', async () => {
    const lines = await read([OK, OK, { parts: [{ text: 'a summary' }] }], async (client) => {
      await client.run(`remember ${'y'.repeat(120_000)}`);
      await client.run('more');
      const { messages } = await client.get('get_branch_messages');
      const [, second] = messages as { entryId: string }[];
      const { sessionFile } = await client.get('get_state');
      for (const [type, fields] of [
        ['get_available_models', {}],
        ['set_model', { provider: 'sim', modelId: 'other' }],
        ['cycle_thinking_level', {}],
        ['cycle_model', {}],
        ['cycle_thinking_level', {}],
        ['bash', { command: 'echo one; exit 3' }],
        ['set_todos', { phases: [{ id: 'p', name: 'P', tasks: [] }] }],
        ['set_session_name', { name: 'named' }],
        ['steer', { message: 'left' }],
        ['follow_up', { message: 'later' }],
        ['clear_queue', {}],
        ['compact', {}],
        ['get_messages', {}],
        ['new_session', {}],
        ['switch_session', { sessionPath: sessionFile }],
        ['branch', { entryId: second?.entryId }],
        ['get_state', {}],
      ] as const)
        expect([type, (await client.ask(type, fields)).error]).toEqual([type, undefined]);
    });
    expect(violations(lines)).toEqual([]);
  });

  it('accepts errors', async () => {
    const stalled: SimAnswer = { parts: [{ text: 'never done' }], fault: { kind: 'stall' } };
    const lines = await read(
      [
        { parts: [{ text: 'ok' }], fault: { kind: '529', times: 1, retryAfterSeconds: 0 } },
        { parts: [], fault: { kind: '401' } },
        stalled,
        call('bash', { command: 'sleep 60' }),
      ],
      async (client) => {
        await client.run('retried');
        await client.run('refused');
        for (const sign of ['message_update', 'tool_execution_start']) {
          const from = client.lines.length;
          client.send({ type: 'prompt', message: 'aborted' });
          await client.waitFor(({ type }) => type === sign, from);
          await client.ask('abort');
        }
        await client.ask('set_model', { provider: 'x', modelId: 'y' });
        await client.ask('branch', { entryId: 'nope' });
        await client.ask('prompt', {});
        client.write('{"half":\n');
        await client.get('get_messages');
      },
    );
    expect(violations(lines)).toEqual([]);
    expect(lines.filter(({ type }) => type === 'agent_settled')).toHaveLength(4);
  });

  it('accepts events that no command caused', async () => {
    const rules = [{ name: 'no-any', content: 'Never write any.', condition: [':\\s*any\\b'] }];
    const tooLong: SimAnswer = { parts: [], fault: { kind: 'context-too-long' } };
    const lines = await read(
      [
        { parts: [{ text: `let x: any = 1; ${'more '.repeat(500)}` }], pace: { delayMs: 5 } },
        OK,
        OK,
        OK,
        OK,
        OK,
        tooLong,
        { parts: [{ text: 'a summary' }] },
        OK,
      ],
      async (client) => {
        await client.run(`write ${'y'.repeat(120_000)}`);
        const tasks = [{ id: 'task-1', content: 'x', status: 'pending' }];
        await client.get('set_todos', { phases: [{ id: 'phase-1', name: 'A', tasks }] });
        await client.run('reminded');
        await client.get('set_todos', { phases: [] });
        await client.run('compacted');
        await client.get('get_messages');
      },
      { rules },
    );
    expect(violations(lines)).toEqual([]);
    const types = new Set(lines.map(({ type }) => type));
    for (const type of ['ttsr_triggered', 'todo_reminder', 'auto_compaction_start', 'auto_compaction_end'])
      expect(types).toContain(type);
  });

  const ASSISTANT = {
    role: 'assistant',
    content: [],
    api: 'a',
    provider: 'p',
    model: 'm',
    usage: {
      input: 0,
      output: 0,
      cacheRead: 0,
      cacheWrite: 0,
      totalTokens: 0,
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
    },
    stopReason: 'stop',
    timestamp: 1,
  };

  it.each<readonly [string, JsonObject]>([
    ['an event that it does not know', { type: 'news' }],
    ['a role that it does not know', { type: 'message_start', message: { role: 'poet' } }],
    ['an answer without usage', { type: 'message_start', message: { ...ASSISTANT, usage: {} } }],
    [
      'a delta without the message so far',
      {
        type: 'message_update',
        message: ASSISTANT,
        assistantMessageEvent: { type: 'text_delta', contentIndex: 0, delta: 'x' },
      },
    ],
    [
      'a delta without its place',
      {
        type: 'message_update',
        message: ASSISTANT,
        assistantMessageEvent: { type: 'text_delta', delta: 'x', partial: ASSISTANT },
      },
    ],
    ['a question of another kind', { type: 'extension_ui_request', id: 'u', method: 'dance' }],
    [
      'a compaction for another reason',
      { type: 'auto_compaction_start', reason: 'x', action: 'context-full' },
    ],
    ['an id that is null', { type: 'response', id: null, command: 'abort', success: true }],
    ['an acknowledgement without its data', { type: 'response', command: 'prompt', success: true }],
    ['a refusal without a reason', { type: 'response', command: 'abort', success: false }],
    ['an end without a start', { type: 'turn_end', message: ASSISTANT, toolResults: [] }],
  ])('fails on %s', (_, line) => {
    expect(violations([{ type: 'ready' }, line])).not.toEqual([]);
    expect(violations([{ type: 'ready' }])).toEqual([]);
    expect(violations([{ type: 'agent_start' }])).not.toEqual([]);
  });
});

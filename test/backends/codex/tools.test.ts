import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import type { McpServerSpec } from '../../../src/mcp/index.ts';
import {
  isInstalled,
  ofType,
  open,
  processesWith,
  run,
  simulate,
  textOf,
  wasSent,
  withToolKinds,
} from './fixture.ts';

const skip = !isInstalled;
const done = { parts: [{ text: 'Done.' }] };
const call = (name: string, args: object = {}) => ({ toolCall: { name, arguments: args } });
const server: McpServerSpec = {
  transport: 'stdio',
  name: 'colors',
  command: process.execPath,
  args: [join(fileURLToPath(new URL('.', import.meta.url)), 'mcp-server.mjs')],
  env: {},
  passEnv: [],
};

describe('a tool of an MCP server', () => {
  test.skipIf(skip)('asks, also if it says that it only reads', async () => {
    const sim = await simulate([
      { parts: [call('mcp__colors::paint', { color: 'red' }), call('mcp__colors::look')] },
      done,
    ]);
    const { turn } = await open(await withToolKinds(sim), {
      mcpServers: [server],
      approve: (request) =>
        request.call.name === 'mcp__colors__paint'
          ? { decision: 'deny', reason: 'No paint.' }
          : { decision: 'allow' },
    });
    const reported = await turn('Go');
    const asked = ofType(reported, 'permission').map(({ request }) => request.call);
    expect(asked).toHaveLength(2);
    expect(asked).toContainEqual(
      expect.objectContaining({
        name: 'mcp__colors__paint',
        title: 'colors: paint {"color":"red"}',
        access: [{ type: 'foreign', readOnly: false }],
      }),
    );
    const calls = new Set(ofType(reported, 'call').map((event) => event.call.callId));
    expect(asked.every(({ callId }) => calls.has(callId))).toBe(true);
    const ends = ofType(reported, 'call-end');
    expect(ends).toContainEqual(
      expect.objectContaining({
        status: 'done',
        output: expect.objectContaining({ content: [{ type: 'text', text: 'look ran' }] }),
      }),
    );
    expect(wasSent(sim, 'paint ran')).toBe(false);
    expect(wasSent(sim, 'No paint.')).toBe(true);
  });

  test.skipIf(skip)('may ask the user a question', async () => {
    const sim = await simulate([{ parts: [call('mcp__colors::ask')] }, done]);
    const { connection, next } = await open(await withToolKinds(sim), { mcpServers: [server] });
    connection.prompt([{ type: 'text', text: 'Go' }]);
    const { requestId, question } = await next('question');
    expect(question).toMatchObject({ message: 'Which color?', schema: { required: ['color'] } });
    connection.reply(requestId, { action: 'accept', content: { color: 'blue' } });
    await next('turn-end');
    expect(wasSent(sim, 'blue')).toBe(true);
  });
});

describe('a sub-agent', () => {
  test.skipIf(skip)('ends when the turn is cancelled', async () => {
    const sim = await simulate((request) => {
      const input = JSON.stringify(request.body['input']);
      if (!input.includes('MAIN TASK')) return { parts: [run('touch started; sleep 4006')] };
      if (input.includes('SECOND')) return done;
      const [, id] = /agent_id\\*":\\*"([0-9a-f-]+)/.exec(input) ?? [];
      if (id === undefined) return { parts: [call('multi_agent_v1::spawn_agent', { message: 'A PART' })] };
      return { parts: [call('multi_agent_v1::wait_agent', { targets: [id], timeout_ms: 60_000 })] };
    });
    const { connection, next, directories, turn } = await open(await withToolKinds(sim));
    connection.prompt([{ type: 'text', text: 'MAIN TASK' }]);
    await expect.poll(() => existsSync(join(directories.cwd, 'started'))).toBe(true);
    await next('call', (event) => event.call.name === 'wait');
    connection.cancel();
    expect(await next('turn-end')).toMatchObject({ outcome: { status: 'cancelled' } });
    expect(processesWith(directories.home).filter((one) => one.command.includes('sleep 400'))).toEqual([]);
    expect(textOf(await turn('SECOND'))).toBe('Done.');
  });

  test.skipIf(skip)('is shown in the call that waits for it, and asks for its own calls', async () => {
    const sim = await simulate((request) => {
      const input = JSON.stringify(request.body['input']);
      if (!input.includes('MAIN TASK'))
        return input.includes('function_call_output')
          ? { parts: [{ text: 'The part is done.' }] }
          : { parts: [run('echo from-the-sub-agent')] };
      const [, id] = /agent_id\\*":\\*"([0-9a-f-]+)/.exec(input) ?? [];
      if (id === undefined) return { parts: [call('multi_agent_v1::spawn_agent', { message: 'A PART' })] };
      if (!input.includes('wait_agent'))
        return { parts: [call('multi_agent_v1::wait_agent', { targets: [id], timeout_ms: 60_000 })] };
      return done;
    });
    const { turn } = await open(await withToolKinds(sim));
    const reported = await turn('MAIN TASK');
    expect(textOf(reported)).toBe('Done.');
    const [permission] = ofType(reported, 'permission');
    const calls = ofType(reported, 'call').map((event) => event.call);
    expect(calls.map(({ name }) => name)).toEqual(['spawnAgent', 'wait']);
    expect(calls.map(({ callId }) => callId)).toContain(permission?.request.parentCallId);
    expect(permission?.request.call.title).toBe('echo from-the-sub-agent');
    expect(ofType(reported, 'call-end')).toHaveLength(2);
    // Three requests of the agent, two of the sub-agent.
    expect(ofType(reported, 'usage')).toHaveLength(5);
  });
});

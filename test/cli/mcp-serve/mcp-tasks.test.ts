import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { spawn } from 'node:child_process';
import { call, textAnswer } from '../daemon.ts';
import { killAndWait, MAIN } from '../polypod.ts';
import { mcpFixture, type McpFixture, type Result } from './fixture.ts';

const TASKS = 'io.modelcontextprotocol/tasks';

/** A client of the revision of 2026 that supports tasks: the official client has no support for the extension. */
function taskClient({ project, env }: McpFixture) {
  const child = spawn(process.execPath, [MAIN, 'mcp', 'serve'], {
    cwd: project,
    env: { PATH: process.env.PATH, OLLAMA_HOST: 'http://127.0.0.1:9', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => killAndWait(child));
  const pending = new Map<number, (message: Result) => void>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message: Result = JSON.parse(line);
    pending.get(message.id)?.(message);
  });
  let id = 0;
  return (method: string, params: object, extensions: object = { [TASKS]: {} }): Promise<Result> => {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test-host', version: '1.0.0' },
      'io.modelcontextprotocol/clientCapabilities': { extensions },
    };
    id += 1;
    child.stdin.write(
      `${JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta: meta } })}\n`,
    );
    return new Promise((resolve) => pending.set(id, resolve));
  };
}

const wait = (session: string) => ({ name: 'wait', arguments: { session } });

describe('the tasks extension of polypod mcp serve', () => {
  it('returns a task for a wait, which completes when the run needs approval or has ended', async () => {
    const fixture = await mcpFixture([call('bash', { command: 'touch made' }), textAnswer('Done.')]);
    const send = taskClient(fixture);
    const { result: discovered } = await send('server/discover', {});
    expect(discovered.capabilities.extensions).toHaveProperty([TASKS]);
    const prompted = await send('tools/call', { name: 'prompt', arguments: { text: 'Go' } });
    const { session } = prompted.result.structuredContent;
    const { result: task } = await send('tools/call', wait(session));
    expect(task).toMatchObject({
      resultType: 'task',
      status: 'working',
      taskId: expect.any(String),
      ttlMs: null,
    });
    const state = async () => (await send('tasks/get', { taskId: task.taskId })).result;
    await expect.poll(async () => (await state()).status, { timeout: 30_000 }).toBe('completed');
    const done = await state();
    expect(done.result.structuredContent).toMatchObject({ session, reason: 'approval' });
    await send('tools/call', { name: 'cancel', arguments: { session } });
    expect(await state()).toEqual(done);
  });

  it('cancels the task, not the run, and refuses unknown tasks and sessions', async () => {
    const fixture = await mcpFixture([call('bash', { command: 'sleep 600' })]);
    fixture.configure('permissions: { mode: full-access }');
    const send = taskClient(fixture);
    const prompted = await send('tools/call', { name: 'prompt', arguments: { text: 'Go' } });
    const { session } = prompted.result.structuredContent;
    const { taskId } = (await send('tools/call', wait(session))).result;
    expect((await send('tasks/get', { taskId })).result.status).toBe('working');
    await send('tasks/cancel', { taskId });
    expect((await send('tasks/get', { taskId })).result.status).toBe('cancelled');
    const listed = await send('tools/call', { name: 'list_sessions', arguments: { state: 'running' } });
    expect(listed.result.structuredContent.sessions).toMatchObject([{ session }]);
    expect((await send('tasks/get', { taskId: 'nothing' })).error.message).toContain('call wait again');
    expect((await send('tasks/get', {})).error).toBeDefined();
    expect((await send('tools/call', wait('nothing'))).error.message).toContain('list_sessions');
    await send('tools/call', { name: 'cancel', arguments: { session } });
  });

  it('does not return tasks to clients without it', async () => {
    const fixture = await mcpFixture([textAnswer('Hi.')]);
    const send = taskClient(fixture);
    const prompted = await send('tools/call', { name: 'prompt', arguments: { text: 'Go' } }, {});
    const { session } = prompted.result.structuredContent;
    const { result } = await send('tools/call', wait(session), {});
    expect(result).toMatchObject({ resultType: 'complete', structuredContent: { answer: 'Hi.' } });
  });
});

import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { type JsonObject, objectOf } from '../../src/base/index.ts';
import { start } from '../cli/polypod.ts';
import { connectLines, type JsonLine } from '../doors/lines.ts';
import { Program } from '../protocols/rpc/program.ts';
import { Client } from '../protocols/tasks/fixture.ts';
import { WsClient } from '../protocols/tasks/ws-client.ts';
import { canMount, daemonOnSmallDisk } from './small-disk.ts';

const LONG_ANSWER = 'Go.\n[[sim deltas=9000 size=40 delay=1]]';
const FULL = /^cannot .*: the disk is full\. Free some space/;

/** All data that a client receives until its connection closes. */
async function watched(path: string, first: string) {
  const socket = connect(path);
  await once(socket, 'connect');
  socket.write(first);
  let text = '';
  socket.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
  });
  const closed = once(socket, 'close');
  const lastLine = async (): Promise<unknown> => {
    await closed;
    return JSON.parse(text.trim().split('\n').at(-1) ?? '');
  };
  return { lastLine };
}

/** A client of the HLD door: one connection for requests, one that is subscribed to everything. */
async function hldClient(path: string) {
  const [requests, events] = [await connectLines(path), await connectLines(path)];
  events.send({ jsonrpc: '2.0', id: 1, method: 'Subscribe', params: {} });
  await events.next(({ result }) => result !== undefined);
  let ids = 0;
  const ask = async (method: string, params: object): Promise<JsonLine> => {
    const id = (ids += 1);
    requests.send({ jsonrpc: '2.0', id, method, params });
    return requests.next((line) => line.id === id, 0);
  };
  const statusChange = async (status: string): Promise<JsonObject> => {
    const dataOf = ({ result }: JsonLine) => objectOf(objectOf(objectOf(result).event).data);
    return dataOf(await events.next((line) => dataOf(line).new_status === status));
  };
  return { ask, statusChange };
}

describe.runIf(canMount)('a disk that fills up during a run', () => {
  it('disconnects every watcher of the run after sending the reason', async () => {
    const { env, fill, podSocket } = await daemonOnSmallDisk();
    const socket = podSocket('demo');
    const command = start(['run', '--json', '--name', 'demo', LONG_ANSWER], env);
    command.child.stdin.end();
    await command.waitForOutput('"block-delta"');
    await expect.poll(() => existsSync(socket), { timeout: 20_000 }).toBe(true);
    const plain = await watched(socket, '');
    const extended = await watched(socket, '{"method":"subscribe"}\n');
    const late = await watched(socket, '{"method":"subscribe","params":{"after":0}}\n');
    fill();
    const message = expect.stringMatching(FULL);
    expect(await plain.lastLine()).toEqual({ event: 'error', data: { code: 'internal', message } });
    const error = { event: 'error', data: { code: 'overloaded', message } };
    expect(await extended.lastLine()).toEqual(error);
    expect(await late.lastLine()).toEqual(error);
    const { code, stderr } = await command.finished;
    expect(stderr).toContain('the disk is full. Free some space');
    expect(code).toBe(3);
  });

  it('ends answer, turn and loop of an RPC client with the reason, and the session continues when there is space again', async () => {
    const { env, fill, free } = await daemonOnSmallDisk();
    const client = new Program([], env);
    await client.ask('prompt', { message: LONG_ANSWER });
    await client.waitFor(({ type }) => type === 'message_update');
    fill();
    await client.quiet();
    const isEnd = ({ type }: { readonly type: string }): boolean =>
      !['message_update', 'response', 'ready'].includes(type);
    const ends = client.lines.filter(isEnd).slice(-4);
    expect(ends.map(({ type }) => type)).toEqual(['message_end', 'turn_end', 'agent_end', 'agent_settled']);
    const broken = { role: 'assistant', stopReason: 'error', errorMessage: expect.stringMatching(FULL) };
    expect(ends[0]).toMatchObject({ message: broken });
    expect(ends[1]).toMatchObject({ message: broken });
    expect(ends[2]).toMatchObject({ messages: [{ role: 'user' }, broken] });

    expect(await client.get('get_state')).toMatchObject({ isStreaming: false, messageCount: 1 });
    expect(await client.ask('prompt', { message: 'Again.' })).toMatchObject({
      success: false,
      error: expect.stringMatching(FULL),
    });
    free();
    const again = await client.run('Again. [[sim text=fine]]');
    const types = again.filter(isEnd).map(({ type }) => type);
    expect(types[0]).toBe('agent_start');
    expect(types.filter((type) => type === 'agent_end' || type === 'agent_settled')).toHaveLength(2);
    expect(await client.get('get_last_assistant_text')).toEqual({ text: 'fine' });
  });

  it('ends a call whose start an RPC client has received', async () => {
    const { env, fill } = await daemonOnSmallDisk();
    const client = new Program([], env);
    const args = JSON.stringify({ command: 'while :; do echo tick; sleep 0.05; done' });
    await client.ask('prompt', { message: `Go. [[sim tool=bash args='${args}']]` });
    await client.waitFor(({ type }) => type === 'tool_execution_update');
    const from = client.lines.length;
    fill();
    await client.quiet();
    const rest = client.lines.slice(from).filter(({ type }) => type !== 'tool_execution_update');
    expect(rest.map(({ type }) => type)).toEqual([
      'tool_execution_end',
      ...['message_start', 'message_end', 'turn_end'],
      ...['turn_start', 'message_start', 'message_end', 'turn_end'],
      ...['agent_end', 'agent_settled'],
    ]);
    expect(rest[0]).toMatchObject({ isError: true });
    expect(rest[6]).toMatchObject({
      message: { stopReason: 'error', errorMessage: expect.stringMatching(FULL) },
    });
  });

  it('changes the status of an HLD session to failed, for subscribers and in lists', async () => {
    const { env, fill, free, hldSocket } = await daemonOnSmallDisk();
    const { ask, statusChange } = await hldClient(hldSocket);
    const launched = await ask('launchSession', { query: LONG_ANSWER, working_dir: env.HOME });
    const { session_id: id } = objectOf(launched.result);
    await statusChange('running');
    fill();
    expect(await statusChange('failed')).toMatchObject({
      session_id: id,
      old_status: 'running',
      error_message: expect.stringMatching(FULL),
    });
    const expectFailed = async (): Promise<void> => {
      const state = await ask('getSessionState', { session_id: id });
      const error = expect.stringMatching(FULL);
      expect(state.result).toMatchObject({ session: { status: 'failed', error_message: error } });
      const listed = await ask('listSessions', {});
      expect(listed.result).toMatchObject({ sessions: [{ id, status: 'failed', error }] });
    };
    await expectFailed();
    expect(await ask('continueSession', { session_id: id, query: 'Go on.' })).toMatchObject({
      error: { message: expect.stringMatching(FULL) },
    });
    const conversation = await ask('getConversation', { session_id: id });
    expect(conversation.result).toMatchObject({ events: [{ role: 'user', content: LONG_ANSWER }] });
    free();
    // After it is loaded again, the session has a run without an end; the reason of its failure is still known.
    await ask('getConversation', { session_id: id });
    await expectFailed();
  });

  it('fails a task, and its watchers are sent the reason before their streams end', async () => {
    const { fill, free, key, url } = await daemonOnSmallDisk();
    const client = new Client(() => url, key);
    const taskId = await client.submit({ userPrompt: LONG_ANSWER, taskType: 'chat', sessionId: 's1' });
    await client.until(taskId, 'running');
    const readers = [
      await client.events(`/tasks/${taskId}/events`),
      await client.events('/sessions/s1/events'),
    ];
    const socket = new WsClient(url, ['polypod', `bearer.${key}`]);
    await socket.opened;
    await socket.ask('subscribe', { sessionId: 's1' });
    await Promise.all(readers.map((reader) => reader.waitFor('text_delta')));
    fill();
    await Promise.all(readers.map((reader) => reader.ended));
    const lines = [
      { event: 'error', data: { code: 'overloaded', message: expect.stringMatching(FULL) } },
      { event: 'error', data: { code: 'ended', message: 'the session was closed' } },
    ];
    for (const { received } of readers) expect(received.slice(-2).map(({ line }) => line)).toEqual(lines);
    await socket.waitFor(({ data }) => data.code === 'ended');
    expect(socket.received.slice(-2)).toEqual(lines.map((line) => ({ ...line, session_id: 's1' })));
    const status = { status: 'failed', state: 'failed', errorMessage: expect.stringMatching(FULL) };
    await expect
      .poll(async () => (await client.get(`/tasks/${taskId}/status`)).body, { timeout: 20_000 })
      .toMatchObject(status);
    expect((await client.get('/tasks')).body).toMatchObject({ tasks: [{ taskId, status: 'failed' }] });
    free();
    expect((await client.get(`/tasks/${taskId}/status`)).body).toMatchObject(status);
  });

  it('rejects a decision with the reason, and the task continues with the next one when there is space again', async () => {
    const { fill, free, key, url } = await daemonOnSmallDisk();
    const client = new Client(() => url, key);
    const ask = { taskType: 'command_execution', userPrompt: 'rm -r build', sessionId: 's1' };
    const taskId = await client.submit(ask);
    await client.until(taskId, 'waiting_approval');
    const { body } = await client.get('/approvals');
    const [approval] = body.approvals as { approvalId: string }[];
    const decide = async () =>
      client.post(`/approvals/${approval?.approvalId}/decide`, { decision: 'deny', comment: 'Keep it.' });
    fill();
    expect((await decide()).body).toMatchObject({ error: { message: expect.stringMatching(FULL) } });
    free();
    await client.until(taskId, 'waiting_approval');
    expect((await decide()).status).toBe(200);
    await client.until(taskId, 'denied');
  });
});

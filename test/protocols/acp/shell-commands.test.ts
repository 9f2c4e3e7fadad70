import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type JsonObject, stringOf } from '../../../src/base/index.ts';
import { acpFixture, type Editor, shown, textAnswer } from './fixture.ts';

const BEN = { by: 'ben', door: 'pod' } as const;

const callUpdates = (editor: Editor, sessionId: string): readonly JsonObject[] =>
  editor.updates(sessionId).filter(({ toolCallId }) => toolCallId !== undefined);

const ended = (editor: Editor, sessionId: string, status: string): Promise<JsonObject> =>
  editor.update(sessionId, (update) => update.status === status);

const text = (content: string): object => ({
  type: 'content',
  content: { type: 'text', text: expect.stringContaining(content) as string },
});

test('a shell command of a person on another door is a call with its output, and reaches the model as a message', async () => {
  const { editor, cwd, pod } = await acpFixture([textAnswer('Hello'), textAnswer('Seen')], { daemon: true });
  const one = await editor();
  const { sessionId } = await one.newSession(cwd);
  await one.prompt(sessionId, 'hi');
  await (await pod(sessionId)).handle({ type: 'shell', command: 'echo one; echo two' }, BEN);
  await ended(one, sessionId, 'completed');
  const calls = callUpdates(one, sessionId);
  expect(calls[0]).toMatchObject({
    sessionUpdate: 'tool_call',
    title: 'echo one; echo two',
    kind: 'execute',
    status: 'in_progress',
    rawInput: { command: 'echo one; echo two' },
  });
  expect(calls.at(-1)).toMatchObject({
    sessionUpdate: 'tool_call_update',
    status: 'completed',
    content: [text('one\ntwo')],
  });
  expect(new Set(calls.map(({ toolCallId }) => toolCallId)).size).toBe(1);
  await one.prompt(sessionId, 'what did I run?');
  const id = stringOf(calls[0]?.toolCallId);
  const live = shown(one.updates(sessionId)).filter((line) => line !== `tool_call_update ${id}`);
  expect(live).toEqual([
    'agent_message: Hello',
    `tool_call ${id} in_progress`,
    `tool_call_update ${id} completed`,
    'agent_message: Seen',
  ]);
  const two = await editor();
  await two.agent.request('session/load', { sessionId, cwd, mcpServers: [] });
  const replayed = shown(two.updates(sessionId)).filter((line) => !line.startsWith('session_info'));
  expect(replayed).toEqual([
    'user_message: hi',
    'agent_message: Hello',
    expect.stringMatching(/^user_message: .*echo one; echo two[^]*one\ntwo/),
    'user_message: what did I run?',
    'agent_message: Seen',
  ]);
});

test('a shell command that fails or is aborted is a failed call, and a private one is not shown', async () => {
  const { editor, cwd, pod } = await acpFixture([textAnswer('Hello')], { daemon: true });
  const one = await editor();
  const { sessionId } = await one.newSession(cwd);
  await one.prompt(sessionId, 'hi');
  const session = await pod(sessionId);
  await session.handle({ type: 'shell', command: 'echo hidden', private: true }, BEN);
  await session.handle({ type: 'shell', command: 'echo broken; exit 3' }, BEN);
  expect(await ended(one, sessionId, 'failed')).toMatchObject({ content: [text('broken')] });
  const { shellId } = await session.handle({ type: 'shell', command: 'echo begun; sleep 60' }, BEN);
  await one.update(sessionId, (update) => JSON.stringify(update.content ?? '').includes('begun'));
  await session.handle({ type: 'abort-shell', ...(shellId !== undefined && { shellId }) }, BEN);
  await one.update(
    sessionId,
    ({ toolCallId, status }) => toolCallId === `shell-${shellId}` && status === 'failed',
  );
  expect(JSON.stringify(one.updates(sessionId))).not.toContain('hidden');
});

test('an editor that loads the session while a shell command runs receives the command and its end', async () => {
  const { editor, cwd, pod } = await acpFixture([textAnswer('Hello')], { daemon: true });
  const one = await editor();
  const { sessionId } = await one.newSession(cwd);
  await one.prompt(sessionId, 'hi');
  execFileSync('mkfifo', [join(cwd, 'go')]);
  await (await pod(sessionId)).handle({ type: 'shell', command: 'echo begun; cat go' }, BEN);
  await one.update(sessionId, (update) => JSON.stringify(update.content ?? '').includes('begun'));
  const two = await editor();
  await two.agent.request('session/load', { sessionId, cwd, mcpServers: [] });
  const [call] = callUpdates(two, sessionId);
  expect(call).toMatchObject({ sessionUpdate: 'tool_call', status: 'in_progress' });
  await writeFile(join(cwd, 'go'), 'more\n');
  for (const each of [one, two])
    expect(await ended(each, sessionId, 'completed')).toMatchObject({
      toolCallId: call?.toolCallId,
      content: [text('begun\nmore')],
    });
});

import { expect, test } from 'vitest';
import { arrayOf, objectOf, stringOf } from '../../../src/base/index.ts';
import { polypod } from '../../cli/polypod.ts';
import { acpFixture, asks, textAnswer, shown } from './fixture.ts';

test('an editor that is killed in the middle of an answer receives everything exactly once', async () => {
  const text = 'one two three four '.repeat(30);
  const { editor, cwd } = await acpFixture(
    [textAnswer('First'), { ...textAnswer(text), pace: { chunkSize: 8, delayMs: 20 } }],
    { daemon: true },
  );
  const one = await editor();
  const { sessionId } = await one.newSession(cwd);
  await one.prompt(sessionId, 'hi');
  one.prompt(sessionId, 'tell me').catch(() => {});
  await one.update(sessionId, (update) => JSON.stringify(update).includes('three'));
  await one.kill();
  const two = await editor();
  await two.agent.request('session/load', { sessionId, cwd, mcpServers: [] });
  const answer = (): string =>
    shown(two.updates(sessionId))
      .filter((line) => line.startsWith('agent_message'))
      .slice(1)
      .join('');
  await two.log.until(() => (answer().length >= `agent_message: ${text}`.length ? true : undefined));
  expect(shown(two.updates(sessionId)).filter((line) => !line.startsWith('session_info'))).toEqual([
    'user_message: hi',
    'agent_message: First',
    'user_message: tell me',
    `agent_message: ${text}`,
  ]);
});

test('a call that another client approved meanwhile is complete after the editor loads the session again', async () => {
  const { editor, cwd, env } = await acpFixture([asks(), textAnswer('Made')], { daemon: true });
  const one = await editor();
  const watcher = await editor();
  const { sessionId } = await one.newSession(cwd);
  one.prompt(sessionId, 'make it').catch(() => {});
  await one.permissionRequest();
  await watcher.agent.request('session/resume', { sessionId, cwd });
  await one.kill();
  const { id } = await watcher.permissionRequest();
  const { stdout } = await polypod(['approvals', '--json'], { env });
  const approval = stringOf(objectOf(arrayOf(JSON.parse(stdout))[0]).id);
  expect(await polypod(['approvals', 'approve', approval], { env })).toMatchObject({ code: 0 });
  await watcher.update(sessionId, (update) => JSON.stringify(update).includes('Made'));
  expect(watcher.log.received).toContainEqual(
    expect.objectContaining({ method: '$/cancel_request', params: { requestId: id } }),
  );
  const two = await editor();
  await two.agent.request('session/load', { sessionId, cwd, mcpServers: [] });
  expect(shown(two.updates(sessionId)).filter((line) => !line.startsWith('session_info'))).toEqual([
    'user_message: make it',
    'tool_call call_1 pending',
    'tool_call_update call_1 completed',
    'agent_message: Made',
  ]);
  expect(two.permissionRequests()).toEqual([]);
});

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { arrayOf, objectOf, stringOf } from '../../../src/base/index.ts';
import { polypod } from '../../cli/polypod.ts';
import { acpFixture, allow, asks, describeWithAndWithoutDaemon, reject, textAnswer } from './fixture.ts';

const selected = (optionId: string) => ({ outcome: { outcome: 'selected', optionId } }) as const;

describeWithAndWithoutDaemon((openFixture) => {
  test('a call that needs an approval is announced as pending, and runs after it is allowed', async () => {
    const { editor, cwd } = await openFixture([asks(), textAnswer('Made')]);
    const one = await editor({ permission: () => allow });
    const { sessionId } = await one.newSession(cwd);
    expect(await one.prompt(sessionId, 'make it')).toBe('end_turn');
    expect(existsSync(join(cwd, 'made'))).toBe(true);
    const { params } = await one.permissionRequest();
    expect(objectOf(params)).toMatchObject({
      sessionId,
      toolCall: {
        toolCallId: 'call_1',
        status: 'pending',
        kind: 'execute',
        rawInput: { command: 'touch made' },
      },
      options: [
        { optionId: 'allow-once', kind: 'allow_once' },
        { optionId: 'allow-session', kind: 'allow_always' },
        { optionId: 'allow-always', kind: 'allow_always' },
        { optionId: 'reject', kind: 'reject_once' },
      ],
    });
    const at = one.log.received.findIndex(({ method }) => method === 'session/request_permission');
    const before = one.log.received.slice(0, at).map(({ params: sent }) => objectOf(objectOf(sent).update));
    expect(before).toContainEqual(
      expect.objectContaining({ sessionUpdate: 'tool_call', toolCallId: 'call_1', status: 'pending' }),
    );
    // agent-shell hides its buttons once the call is no longer pending.
    expect(before.filter(({ status }) => status === 'in_progress')).toEqual([]);
    const statuses = one.updates(sessionId).flatMap(({ status }) => (status === undefined ? [] : [status]));
    expect(statuses).toEqual(['pending', 'in_progress', 'completed']);
  });

  test.each([
    ['reject', () => reject],
    ['the outcome cancelled', () => ({ outcome: { outcome: 'cancelled' } }) as const],
    ['an unknown option', () => selected('deny_forever')],
    [
      'an error',
      () => {
        throw new Error('the editor has no window');
      },
    ],
  ])('%s denies the call, and the run goes on', async (_, permission) => {
    const { editor, cwd } = await openFixture([asks(), textAnswer('Then not')]);
    const one = await editor({ permission });
    const { sessionId } = await one.newSession(cwd);
    expect(await one.prompt(sessionId, 'make it')).toBe('end_turn');
    expect(existsSync(join(cwd, 'made'))).toBe(false);
    expect(one.updates(sessionId)).toContainEqual(
      expect.objectContaining({
        sessionUpdate: 'tool_call_update',
        toolCallId: 'call_1',
        status: 'failed',
        _meta: { polypod: { status: 'denied' } },
      }),
    );
  });

  test.each([
    ['allow-once', 2, 3],
    ['allow-session', 1, 2],
    ['allow-always', 1, 1],
  ])('%s is asked %d times in a session and %d times with the next one', async (option, times, withNext) => {
    const { editor, cwd } = await openFixture([
      asks('touch made', 'call_1'),
      asks('touch made', 'call_2'),
      textAnswer('Made'),
      asks('touch made', 'call_3'),
      textAnswer('Made'),
    ]);
    const one = await editor({ permission: () => selected(option) });
    const { sessionId } = await one.newSession(cwd);
    await one.prompt(sessionId, 'make it');
    expect(one.permissionRequests()).toHaveLength(times);
    const next = await one.newSession(cwd);
    await one.prompt(next.sessionId, 'make it');
    expect(one.permissionRequests()).toHaveLength(withNext);
  });

  test('cancel answers the prompt and withdraws a request that is never answered', async () => {
    const { editor, cwd } = await openFixture([asks()]);
    const one = await editor({ permission: () => new Promise(() => {}) });
    const { sessionId } = await one.newSession(cwd);
    const prompt = one.prompt(sessionId, 'make it');
    const { id } = await one.permissionRequest();
    await one.agent.notify('session/cancel', { sessionId });
    expect(await prompt).toBe('cancelled');
    expect(one.log.received).toContainEqual(
      expect.objectContaining({ method: '$/cancel_request', params: { requestId: id } }),
    );
    expect(existsSync(join(cwd, 'made'))).toBe(false);
  });

  test('two calls of one answer are asked for, and each decision is about its own call', async () => {
    const { editor, cwd } = await openFixture([
      {
        parts: [
          { toolCall: { id: 'a', name: 'bash', arguments: { command: 'touch one' } } },
          { toolCall: { id: 'b', name: 'bash', arguments: { command: 'touch two' } } },
        ],
      },
      textAnswer('Half'),
    ]);
    const one = await editor({
      permission: ({ toolCall }) => (toolCall.toolCallId === 'a' ? reject : allow),
    });
    const { sessionId } = await one.newSession(cwd);
    await one.prompt(sessionId, 'make both');
    expect([existsSync(join(cwd, 'one')), existsSync(join(cwd, 'two'))]).toEqual([false, true]);
  });
});

describe('with a daemon', () => {
  test('the decision of another client withdraws the request, and the call goes on', async () => {
    const { editor, cwd, env } = await acpFixture([asks(), textAnswer('Made')], { daemon: true });
    const one = await editor();
    const { sessionId } = await one.newSession(cwd);
    const prompt = one.prompt(sessionId, 'make it');
    const { id } = await one.permissionRequest();
    const listed = await polypod(['approvals', '--json'], { env });
    const approvalId = stringOf(objectOf(arrayOf(JSON.parse(listed.stdout))[0]).id);
    const decided = await polypod(['approvals', 'approve', approvalId], { env });
    expect(decided, decided.stderr).toMatchObject({ code: 0 });
    expect(await prompt).toBe('end_turn');
    expect(one.log.received).toContainEqual(
      expect.objectContaining({ method: '$/cancel_request', params: { requestId: id } }),
    );
    expect(existsSync(join(cwd, 'made'))).toBe(true);
  });

  test('a pending approval is asked again after the editor was killed, and the call is announced once', async () => {
    const { editor, cwd } = await acpFixture([asks(), textAnswer('Made')], { daemon: true });
    const one = await editor();
    const { sessionId } = await one.newSession(cwd);
    one.prompt(sessionId, 'make it').catch(() => {});
    await one.permissionRequest();
    await one.kill();
    const two = await editor({ permission: () => allow });
    await two.agent.request('session/load', { sessionId, cwd, mcpServers: [] });
    await two.update(sessionId, (update) => JSON.stringify(update).includes('Made'));
    const { params } = await two.permissionRequest();
    expect(stringOf(objectOf(objectOf(params).toolCall).toolCallId)).toBe('call_1');
    const announced = two.updates(sessionId).filter(({ sessionUpdate }) => sessionUpdate === 'tool_call');
    expect(announced).toHaveLength(1);
    expect(two.permissionRequests()).toHaveLength(1);
    expect(existsSync(join(cwd, 'made'))).toBe(true);
  });
});

test('the approval of a sub-agent is asked for with its name, and its call is completed', async () => {
  const { editor, cwd } = await acpFixture((request) => {
    const text = JSON.stringify(request);
    if (text.includes('child task') && !text.includes('delegate it'))
      return text.includes('tool_result') ? textAnswer('child done') : asks('touch made', 'child_1');
    return text.includes('tool_result')
      ? textAnswer('All done')
      : {
          parts: [
            {
              toolCall: {
                id: 'p1',
                name: 'subagent',
                arguments: { description: 'a helper', prompt: 'child task' },
              },
            },
          ],
        };
  });
  const one = await editor({ permission: () => allow });
  const { sessionId } = await one.newSession(cwd);
  expect(await one.prompt(sessionId, 'delegate it')).toBe('end_turn');
  const { params } = await one.permissionRequest();
  const { toolCallId, title } = objectOf(objectOf(params).toolCall);
  expect(stringOf(title)).toContain('a helper: ');
  expect(existsSync(join(cwd, 'made'))).toBe(true);
  const statuses = one
    .updates(sessionId)
    .filter((update) => update.toolCallId === toolCallId)
    .map(({ status }) => status);
  expect(statuses).toEqual(['pending', 'completed']);
  expect(one.updates(sessionId).filter(({ status }) => status === 'failed')).toEqual([]);
});

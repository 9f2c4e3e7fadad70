import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { JsonObject } from '../../../src/base/index.ts';
import { allow, asks, calls, describeWithAndWithoutDaemon, textAnswer, shown } from './fixture.ts';

const of = (updates: readonly JsonObject[], id: string): readonly JsonObject[] =>
  updates.filter(({ toolCallId }) => toolCallId === id);

describeWithAndWithoutDaemon((openFixture) => {
  test('an edit has its file, one diff for each hunk, and its input and output, also after session/load', async () => {
    const lines = Array.from({ length: 40 }, (_, n) => `line ${n + 1}`);
    const { editor, cwd } = await openFixture([
      calls('edit', {
        path: 'a.txt',
        edits: [
          { old: 'line 2\n', new: 'two\n' },
          { old: 'line 38\n', new: 'thirty-eight\n' },
        ],
      }),
      textAnswer('Changed'),
    ]);
    writeFileSync(join(cwd, 'a.txt'), `${lines.join('\n')}\n`);
    const one = await editor();
    const { sessionId } = await one.newSession(cwd);
    expect(await one.prompt(sessionId, 'edit it')).toBe('end_turn');
    const updates = of(one.updates(sessionId), 'call_1');
    expect(updates[0]).toMatchObject({
      sessionUpdate: 'tool_call',
      kind: 'edit',
      name: 'edit',
      status: 'pending',
    });
    expect(updates).toContainEqual(
      expect.objectContaining({ title: 'edit a.txt', locations: [{ path: join(cwd, 'a.txt') }] }),
    );
    const diff = (oldText: string, newText: string) =>
      expect.objectContaining({
        type: 'diff',
        path: join(cwd, 'a.txt'),
        oldText: expect.stringContaining(oldText) as string,
        newText: expect.stringContaining(newText) as string,
      }) as object;
    const end = {
      status: 'completed',
      content: [diff('line 2\n', 'two\n'), diff('line 38', 'thirty-eight')],
    };
    expect(updates.at(-1)).toMatchObject({ ...end, rawOutput: {} });
    await one.agent.request('session/load', { sessionId, cwd, mcpServers: [] });
    expect(of(one.updates(sessionId), 'call_1').at(-1)).toMatchObject(end);
  });

  test('parallel calls and failed calls have their own results', async () => {
    const { editor, cwd } = await openFixture([
      {
        parts: [
          { toolCall: { id: 'a', name: 'ls', arguments: { path: '.' } } },
          { toolCall: { id: 'b', name: 'read', arguments: { path: 'missing.txt' } } },
          { toolCall: { id: 'c', name: 'grep', arguments: { pattern: 'x' } } },
        ],
      },
      textAnswer('Done'),
    ]);
    const one = await editor();
    const { sessionId } = await one.newSession(cwd);
    await one.prompt(sessionId, 'look');
    const last = (id: string) => of(one.updates(sessionId), id).at(-1)?.status;
    expect(['a', 'b', 'c'].map(last)).toEqual(['completed', 'failed', 'completed']);
    expect(of(one.updates(sessionId), 'c')[0]).toMatchObject({ kind: 'search' });
  });

  test('a call that is interrupted fails with its status', async () => {
    const { editor, cwd } = await openFixture([asks('echo started; sleep 60')]);
    const one = await editor({ permission: () => allow });
    const { sessionId } = await one.newSession(cwd);
    const prompt = one.prompt(sessionId, 'wait');
    await one.update(sessionId, ({ status }) => status === 'in_progress');
    await one.agent.notify('session/cancel', { sessionId });
    expect(await prompt).toBe('cancelled');
    expect(of(one.updates(sessionId), 'call_1').at(-1)).toMatchObject({
      status: 'failed',
      _meta: { polypod: { status: 'interrupted' } },
    });
  });

  test('the to-do list is the plan', async () => {
    const { editor, cwd } = await openFixture([
      calls('todo', {
        items: [
          { content: 'first', status: 'in_progress' },
          { content: 'second', status: 'pending' },
        ],
      }),
      textAnswer('Planned'),
    ]);
    const one = await editor();
    const { sessionId } = await one.newSession(cwd);
    await one.prompt(sessionId, 'plan');
    expect(await one.updateOf(sessionId, 'plan')).toMatchObject({
      entries: [
        { content: 'first', priority: 'medium', status: 'in_progress' },
        { content: 'second', priority: 'medium', status: 'pending' },
      ],
    });
  });

  test.each([true, false])('notices are sent only if declared: %s', async (isDeclared) => {
    const { editor, cwd } = await openFixture([
      { ...textAnswer('x'), fault: { kind: '529', times: 1 } },
      textAnswer('Late'),
    ]);
    const one = await editor({ capabilities: isDeclared ? { session: { notices: {} } } : {} });
    const { sessionId } = await one.newSession(cwd);
    expect(await one.prompt(sessionId, 'hi')).toBe('end_turn');
    expect(shown(one.updates(sessionId)).includes('notice')).toBe(isDeclared);
  });
});

import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/base/index.ts';
import { type Client, textAnswer, tasksFixture } from './fixture.ts';

const BY = { by: 'ada', door: 'test' };

async function listed(client: Client, query = ''): Promise<readonly JsonObject[]> {
  return (await client.get<{ tasks: readonly JsonObject[] }>(`/tasks${query}`)).body.tasks;
}

describe('lists of tasks', () => {
  it('show the prompt and the agent, also after a kill, after a compaction and in a rebuilt catalogue', async () => {
    const { client, host, restart } = await tasksFixture(() => textAnswer('Hello.'), {
      tasks: { name: 'one' },
    });
    const ada = client();
    const long = `${'Say hello. '.repeat(30)}é`;
    const asked: readonly (readonly [JsonObject, string])[] = [
      [{ userPrompt: 'Say\nhello.', context: { files: ['a.txt', 'b.txt'] } }, 'Say\nhello.'],
      [{ userPrompt: long }, long.slice(0, 200)],
      [{ userPrompt: 'One more.', sessionId: 's2' }, 'One more.'],
    ];
    const expected: JsonObject[] = [];
    for (const [fields, userPrompt] of asked) {
      const taskId = await ada.submit(fields);
      await ada.done(taskId);
      const { sessionId = 's1' } = fields;
      expected.unshift({
        taskId,
        sessionId,
        status: 'completed',
        state: 'succeeded',
        updatedAt: expect.any(String),
        userPrompt,
        agentName: 'one',
      });
    }
    const sorted = (tasks: readonly JsonObject[]): readonly JsonObject[] =>
      tasks.toSorted((a, b) => (String(a.taskId) < String(b.taskId) ? -1 : 1));
    expect(sorted(await listed(ada))).toEqual(sorted(expected));
    const podId = String((await ada.get('/sessions/s1')).body.podId);
    await host.pod(podId).handle({ type: 'compact' }, BY);
    for await (const watched of host.pod(podId).watch({ after: 0 }))
      if (watched.type === 'events' && watched.batch.events.some(({ type }) => type === 'compaction-end'))
        break;
    const now = await restart('kill');
    expect(sorted(await listed(ada))).toEqual(sorted(expected));
    // The pod is opened at the checkpoint, which does not contain the first task.
    const last = await ada.submit({ userPrompt: 'The last.' });
    await ada.done(last);
    expect((await listed(ada)).map(({ taskId }) => String(taskId)).toSorted()).toEqual(
      [...expected.map(({ taskId }) => String(taskId)), last].toSorted(),
    );
    await now.sessions.rebuild();
    expect((await listed(ada)).map(({ userPrompt }) => String(userPrompt)).toSorted()).toEqual(
      [...asked.map(([, userPrompt]) => userPrompt), 'The last.'].toSorted(),
    );
  });
});

describe('a denied command', () => {
  it('is reported as denied by every endpoint, for every kind of denial and after a restart', async () => {
    const { client, restart } = await tasksFixture([]);
    const ada = client();
    const command = { taskType: 'command_execution', userPrompt: 'node -e 1' };
    const asked = await ada.submit({ ...command, sessionId: 's1' });
    await ada.until(asked, 'waiting_approval');
    const { approvals } = (await ada.get<{ approvals: readonly JsonObject[] }>('/approvals')).body;
    await ada.post(`/approvals/${String(approvals[0]?.approvalId)}/decide`, {
      decision: 'deny',
      comment: 'Not now.',
    });
    const reader = client({ limits: { mode: 'read-only' } });
    const refused = await reader.submit({ ...command, sessionId: 's2' });
    const ran = await ada.submit({ ...command, sessionId: 's3', userPrompt: 'ls' });
    await ada.done(ran);
    const reasons = new Map([
      [asked, 'the command was denied: ada denied this call: Not now.'],
      [refused, expect.stringMatching(/^the command was denied: In read-only mode/)],
    ]);
    const check = async (): Promise<void> => {
      for (const [taskId, errorMessage] of reasons)
        expect(await ada.until(taskId, 'denied')).toEqual({
          taskId,
          status: 'failed',
          state: 'denied',
          errorMessage,
          sessionId: expect.any(String),
        });
      expect((await listed(ada, '?status=failed')).map(({ taskId, state }) => [taskId, state])).toEqual(
        expect.arrayContaining([...reasons.keys()].map((taskId) => [taskId, 'denied'])),
      );
      expect((await listed(ada, '?status=completed')).map(({ taskId }) => taskId)).toEqual([ran]);
    };
    await check();
    const host = await restart('kill');
    await check();
    await host.sessions.rebuild();
    await check();
    // The event stream of a denied task ends, too.
    const events = await ada.events(`/tasks/${asked}/events`);
    await events.ended;
    expect(events.names.at(-1)).toBe('run_end');
  });
});

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { SimAnswer, SimRequest } from '../../../src/sim/index.ts';
import { calls, textAnswer, STALLS, type TasksFixture, tasksFixture } from './fixture.ts';

type Act = (request: SimRequest, turn: number) => SimAnswer;

/** A model that plays all roles; `turn` is the number of its answers in the conversation so far. */
function company(roles: { readonly coordinator: Act; readonly developer?: Act; readonly reviewer?: Act }) {
  const nobody: Act = () => textAnswer('?');
  return (request: SimRequest): SimAnswer => {
    const turn = request.messages.filter(({ role }) => role === 'assistant').length;
    const { coordinator, developer = nobody, reviewer = nobody } = roles;
    const act = request.system.includes('You are the coordinator')
      ? coordinator
      : request.system.includes('You are the developer')
        ? developer
        : reviewer;
    return act(request, turn);
  };
}

const delegate = (role: string, instructions: string): SimAnswer => calls('delegate', { role, instructions });
const lastResult = ({ messages }: SimRequest): string => messages.at(-1)?.toolResults.at(-1)?.text ?? '';
const submit = ({ client }: TasksFixture, more = {}): Promise<string> =>
  client().submit({ taskType: 'complex_task', userPrompt: 'Make it.', ...more });

describe('a complex task', () => {
  it('is planned by a coordinator, done by a developer, and reviewed by a reviewer who sees the work', async () => {
    const seen: string[] = [];
    const fixture = await tasksFixture(
      company({
        coordinator: (request, turn) => {
          seen.push(lastResult(request));
          if (turn === 0) return delegate('developer', 'Write a.txt.');
          return turn === 1 ? delegate('reviewer', 'Judge it.') : textAnswer(`Done: ${lastResult(request)}`);
        },
        developer: (_, turn) =>
          turn === 0 ? calls('write', { path: 'a.txt', content: 'one\n' }) : textAnswer('Written.'),
        reviewer: ({ messages, tools }) => {
          seen.push(
            tools
              .map(({ name }) => name)
              .toSorted()
              .join(),
          );
          return textAnswer(messages.at(-1)?.text.includes('+one') === true ? 'APPROVED' : 'CHANGES NEEDED');
        },
      }),
    );
    const taskId = await submit(fixture);
    const ada = fixture.client();
    expect(await ada.done(taskId)).toMatchObject({
      result: { text: 'Done: APPROVED', usage: { toolCalls: 2 } },
    });
    expect(readFileSync(join(fixture.cwd, 'a.txt'), 'utf8')).toBe('one\n');
    expect(seen[1]).toContain('Written.');
    expect(seen).toContain('find,grep,ls,read');
    const { body } = await ada.get<{ sessions: unknown[] }>('/sessions');
    expect(body.sessions).toHaveLength(3);
  });

  it('requests approval for its developer in its own session', async () => {
    const fixture = await tasksFixture(
      company({
        coordinator: (request, turn) =>
          turn === 0 ? delegate('developer', 'Run it.') : textAnswer(lastResult(request)),
        developer: (_, turn) =>
          turn === 0 ? calls('bash', { command: 'node -e 1 > made' }) : textAnswer('Ran.'),
      }),
    );
    const taskId = await submit(fixture);
    const ada = fixture.client();
    await ada.until(taskId, 'waiting_approval');
    const { body } = await ada.get<{ approvals: readonly { approvalId: string }[] }>('/approvals');
    expect(body.approvals).toHaveLength(1);
    await ada.post(`/approvals/${body.approvals[0]?.approvalId}/decide`, { decision: 'approve' });
    expect(await ada.done(taskId)).toMatchObject({ result: { text: 'Ran.' } });
  });

  it('stops after a limited number of delegations', async () => {
    const results: string[] = [];
    const fixture = await tasksFixture(
      company({
        coordinator: (request, turn) => {
          results.push(lastResult(request));
          return turn < 6
            ? delegate('developer', turn < 3 ? 'Same.' : `Other ${turn}.`)
            : textAnswer('Enough.');
        },
        developer: () => textAnswer('Done.'),
      }),
      { tasks: { limits: { delegations: 4 } } },
    );
    const ada = fixture.client();
    expect(await ada.done(await submit(fixture))).toMatchObject({ result: { text: 'Enough.' } });
    expect(results[3]).toContain('the same 2 times');
    expect(results[4]).toBe('Done.');
    expect(results.at(-1)).toContain('you have delegated 4 times');
  });

  it('cancels its developer when it is cancelled', async () => {
    const fixture = await tasksFixture(
      company({ coordinator: () => delegate('developer', 'Wait.'), developer: () => STALLS }),
    );
    const taskId = await submit(fixture);
    const ada = fixture.client();
    // The coordinator's, and the developer's, which does not end.
    while (!fixture.sim.requests.some(({ body }) => JSON.stringify(body).includes('You are the developer')))
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    await ada.post(`/tasks/${taskId}/cancel`);
    for (;;) {
      const { body } = await ada.get<{ sessions: readonly { state: string }[] }>('/sessions');
      if (body.sessions.every(({ state }) => state === 'idle')) break;
    }
    expect((await ada.get(`/tasks/${taskId}/status`)).body).toMatchObject({ state: 'cancelled' });
  });

  it('leaves nothing behind for the next task of the session, and can be followed by another one', async () => {
    const fixture = await tasksFixture(
      company({
        coordinator: (request, turn) =>
          turn % 2 === 0 ? delegate('developer', `Part ${turn}.`) : textAnswer(lastResult(request)),
        developer: () => textAnswer('Done.'),
      }),
    );
    const ada = fixture.client();
    const tasks = [await submit(fixture), await submit(fixture)];
    for (const taskId of tasks) expect(await ada.done(taskId)).toMatchObject({ result: { text: 'Done.' } });
    expect(await ada.done(await submit(fixture))).toMatchObject({ result: { text: 'Done.' } });
    const { body } = await ada.get('/sessions/s1');
    const pod = fixture.host.pod(String(body.podId));
    for (;;) {
      const { settings } = await pod.snapshot();
      if (settings.clientTools.length === 0 && settings.rules.length === 0) break;
    }
  });

  it('passes its mode on to its delegates', async () => {
    const fixture = await tasksFixture(
      company({
        coordinator: (request, turn) =>
          turn === 0 ? delegate('developer', 'Write.') : textAnswer(lastResult(request)),
        developer: (request, turn) =>
          turn === 0
            ? calls('write', { path: 'a.txt', content: 'one\n' })
            : textAnswer(`Tried: ${lastResult(request)}`),
      }),
    );
    const ada = fixture.client();
    const taskId = await submit(fixture, { context: { permissionMode: 'read-only' } });
    const { result } = await ada.done(taskId);
    expect(JSON.stringify(result)).toMatch(/denied|read-only/i);
    expect(() => readFileSync(join(fixture.cwd, 'a.txt'))).toThrow();
  });
});

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/base/index.ts';
import { agentFixture } from '../../protocols/tasks/binary.ts';
import type { Client } from '../../protocols/tasks/fixture.ts';

const command = (sessionId: string, userPrompt: string, more: JsonObject = {}): JsonObject => ({
  sessionId,
  taskType: 'command_execution',
  userPrompt,
  ...more,
});

interface SavedRule {
  readonly id: string;
  readonly owner?: string;
  readonly directory: string;
  readonly rule: JsonObject;
}

/** Many processes, one after the other, on a machine that may be busy. */
const BUSY_MS = 120_000;

describe('a rule made with "always" (built program)', () => {
  it('belongs to the owner and the directory, and to the call that was executed', {
    timeout: BUSY_MS,
  }, async () => {
    const fixture = await agentFixture();
    const other = join(fixture.home, 'other');
    mkdirSync(other);
    await fixture.agent();
    const newKey = async (owner: string): Promise<Client> =>
      fixture.client(
        await fixture.newKey(
          ...['--owner', owner, '--scope', 'submit,read,approve'],
          ...['--directory', fixture.project, '--directory', other],
        ),
      );
    const [ada, bob] = [await newKey('one'), await newKey('two')];
    const asks = async (client: Client, body: JsonObject): Promise<string> => {
      const taskId = await client.submit(body);
      await client.until(taskId, 'waiting_approval');
      return taskId;
    };
    const approve = async (client: Client, sessionId: string, more: JsonObject): Promise<void> => {
      const { body } = await client.get<{ approvals: readonly { approvalId: string }[] }>(
        `/approvals?sessionId=${sessionId}`,
      );
      const path = `/approvals/${body.approvals[0]?.approvalId}/decide`;
      expect((await client.post(path, { decision: 'approve', remember: 'always', ...more })).status).toBe(
        200,
      );
    };

    // The executed command differs from the requested one, and the rule applies to the executed one.
    const taskId = await asks(ada, command('s1', 'node -e "process.exitCode = 1" first'));
    const updated = JSON.stringify({ command: 'node -e 1 second' });
    await approve(ada, 's1', { updatedArguments: updated });
    await ada.done(taskId);
    const savedRules = JSON.parse((await fixture.polypod('rules', 'list', '--json')).stdout) as SavedRule[];
    expect(savedRules).toMatchObject([
      { owner: 'one', directory: fixture.project, rule: { command: 'node -e 1 second', exact: true } },
    ]);
    await ada.done(await ada.submit(command('s2', 'node -e 1 second')));
    await asks(ada, command('s3', 'node -e "process.exitCode = 1" first'));

    // The rule does not apply to other owners, to the local user, or in other directories.
    await asks(bob, command('s1', 'node -e 1 second'));
    await asks(fixture.client(), command('s1', 'node -e 1 second'));
    await asks(ada, command('s4', 'node -e 1 second', { context: { workingDirectory: other } }));

    // The rule is listed, recorded and removed, and a running agent applies the change.
    const id = savedRules[0]?.id ?? '';
    expect((await fixture.polypod('rules', 'list')).stdout).toMatch(
      new RegExp(`${id} +one +${fixture.project} +auto bash exactly node -e 1 second`),
    );
    expect((await fixture.polypod('rules', 'rm', id)).stderr).toContain('removed auto bash');
    await asks(ada, command('s5', 'node -e 1 second'));
    const { stdout } = await fixture.polypod('audit', '--event', 'rule', '--json');
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as JsonObject).event),
    ).toEqual(['rule.created', 'rule.removed']);
    expect(await fixture.polypod('rules', 'rm', id)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`there is no rule "${id}"; polypod rules list shows the ids`),
    });
  });

  it('of the local user does not apply to the owner of the task', async () => {
    const fixture = await agentFixture();
    await fixture.agent();
    const ada = fixture.client(await fixture.newKey('--owner', 'one', '--scope', 'submit,read,admin'));
    const taskId = await ada.submit(command('s1', 'node -e 1 local'));
    await ada.until(taskId, 'waiting_approval');
    const { body } = await ada.get<{ approvals: readonly { approvalId: string }[] }>('/approvals');
    const approvalId = body.approvals[0]?.approvalId ?? '';
    const { podId } = (await ada.get('/sessions/s1')).body;
    const pod = await fixture.pod(String(podId));
    await pod.handle(
      { type: 'decide', approvalId, decision: 'approve', remember: 'always' },
      { by: 'ada', door: 'test' },
    );
    await ada.done(taskId);
    const [savedRule] = JSON.parse((await fixture.polypod('rules', 'list', '--json')).stdout) as SavedRule[];
    expect(savedRule).not.toHaveProperty('owner');
    const second = await ada.submit(command('s2', 'node -e 1 local'));
    await ada.until(second, 'waiting_approval');
  });
});

import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/base/index.ts';
import { call, textAnswer } from '../../../cli/daemon.ts';
import { agentFixture } from '../binary.ts';
import { type Client, task } from '../fixture.ts';
import { WsClient } from '../ws-client.ts';

/** A command that always needs approval: it writes a file and no rule allows it. */
const command = (sessionId: string, more: JsonObject = {}): JsonObject => ({
  sessionId,
  taskType: 'command_execution',
  userPrompt: 'node -e 1 > made',
  ...more,
});

const refused = (field: string, message: RegExp): object => ({
  status: 403,
  body: {
    error: { code: 'outside_key', message: expect.stringMatching(message), details: { field } },
  },
});

async function approvalOf(client: Client, taskId: string): Promise<string> {
  await client.until(taskId, 'waiting_approval');
  const { body } = await client.get<{ approvals: readonly { approvalId: string }[] }>('/approvals');
  return body.approvals[0]?.approvalId ?? '';
}

describe("a key's directories (built program)", () => {
  it('apply to tasks that name no directory, and to existing sessions', async () => {
    const fixture = await agentFixture([textAnswer('Hello.')]);
    const [one, two] = [join(fixture.home, 'one'), join(fixture.home, 'two')];
    for (const directory of [one, two]) mkdirSync(directory);
    symlinkSync(fixture.project, join(one, 'link'));
    await fixture.agent();
    const scopes = ['--owner', 'ada', '--scope', 'submit,read'];
    const only = fixture.client(await fixture.newKey(...scopes, '--directory', one));
    const both = fixture.client(await fixture.newKey(...scopes, '--directory', one, '--directory', two));

    // The only directory of a key is the default of its tasks.
    await only.submit({ sessionId: 'own' });
    expect((await only.get('/sessions/own')).body).toMatchObject({ workingDirectory: one });

    // With several directories the task must name one.
    expect(await both.post('/submit_task', task({ sessionId: 'which' }))).toMatchObject(
      refused('context.workingDirectory', new RegExp(`name one of ${one}, ${two}`)),
    );
    expect((await both.get('/sessions/which')).status).toBe(404);

    // Links and ".." are resolved.
    for (const workingDirectory of [join(one, 'link'), `${one}/../project`, fixture.project])
      expect(
        await only.post('/submit_task', task({ sessionId: 'linked', context: { workingDirectory } })),
      ).toMatchObject(refused('context.workingDirectory', /outside/));
    expect(
      await only.post(
        '/submit_task',
        task({ sessionId: 'own', context: { allowedPaths: [join(one, 'link')] } }),
      ),
    ).toMatchObject(refused('context.allowedPaths.0', /outside/));

    // A session of the same owner in another directory: by name, by id, by a grant, over HTTP and WebSocket.
    const wide = fixture.client();
    await wide.submit(command('elsewhere'));
    const { podId } = (await wide.get('/sessions/elsewhere')).body;
    const granted = fixture.client(
      await fixture.newKey(
        ...['--owner', 'bob', '--scope', 'submit,read', '--directory', one],
        ...['--grant', String(podId)],
      ),
    );
    const outside = refused('sessionId', /works in a directory that this key may not use/);
    expect(await only.post('/submit_task', task({ sessionId: 'elsewhere' }))).toMatchObject(outside);
    for (const client of [only, granted])
      expect(await client.post('/submit_task', task({ sessionId: podId }))).toMatchObject(outside);
    const socket = new WsClient(granted.url, ['polypod'], { headers: granted.headers });
    await socket.opened;
    expect(await socket.ask('prompt', task({ sessionId: podId }))).toMatchObject({
      event: 'error',
      data: { code: 'outside_key', details: { field: 'sessionId' } },
    });
  });

  it('apply where the configuration allows more paths, and to approvals by the key', async () => {
    const fixture = await agentFixture([
      call('write', { path: '../open/made', content: 'x' }),
      textAnswer('Done.'),
    ]);
    const open = join(fixture.home, 'open');
    mkdirSync(open);
    fixture.configure(`permissions: { allow_paths: [${open}] }\n`);
    await fixture.agent();
    const write = (path: string): JsonObject => ({ path, content: 'x' });
    const narrow = fixture.client(
      await fixture.newKey(
        '--owner',
        'ada',
        '--scope',
        'submit,read,approve',
        '--directory',
        fixture.project,
      ),
    );
    const file = join(open, 'made');
    const taskId = await narrow.submit({ taskType: 'file_operation', sessionId: 'narrow' });
    const approvalId = await approvalOf(narrow, taskId);
    const decide = (body: JsonObject) => narrow.post(`/approvals/${approvalId}/decide`, body);
    expect(await decide({ decision: 'approve' })).toMatchObject({
      status: 403,
      body: { error: { message: expect.stringContaining(`${file} lies outside of its directories`) } },
    });
    expect(
      await decide({
        decision: 'approve',
        updatedArguments: JSON.stringify(write(join(open, 'elsewhere/made'))),
      }),
    ).toMatchObject({ status: 403 });
    expect(existsSync(file)).toBe(false);
    expect(
      await decide({
        decision: 'approve',
        updatedArguments: JSON.stringify(write(join(fixture.project, 'made'))),
      }),
    ).toMatchObject({ status: 200 });
    await narrow.done(taskId);
    expect(existsSync(join(fixture.project, 'made'))).toBe(true);
  });
});

describe("a key's mode and models (built program)", () => {
  it('apply in a session that skips permissions, and never fall back to another model', async () => {
    const fixture = await agentFixture([textAnswer('Hello.')]);
    await fixture.agent();
    const user = fixture.client();
    await user.done(await user.submit({ sessionId: 's1' }));
    const { podId } = (await user.get('/sessions/s1')).body;
    const pod = await fixture.pod(String(podId));
    await pod.handle(
      {
        type: 'configure',
        set: {
          skipPermissionsUntil: new Date(Date.now() + 3_600_000).toISOString(),
          mode: 'full-access',
          acceptEdits: true,
          fallbackRules: [{ action: 'auto' }],
        },
      },
      { by: 'ada', door: 'test' },
    );
    const limited = fixture.client(
      await fixture.newKey('--owner', 'ada', '--scope', 'submit,read', '--mode', 'workspace-write'),
    );
    const asks = await limited.submit(command('s1'));
    await limited.until(asks, 'waiting_approval');
    expect(existsSync(join(fixture.project, 'made'))).toBe(false);
    await limited.post(`/tasks/${asks}/cancel`);

    const models = ['--owner', 'ada', '--scope', 'submit,read', '--model', 'nobody/nothing'];
    const none = fixture.client(await fixture.newKey(...models));
    expect(await none.post('/submit_task', task({ sessionId: 's2' }))).toMatchObject(
      refused('context.model', /this agent has none of the models that this key may use: nobody\/nothing/),
    );
    const reader = fixture.client(await fixture.newKey('--owner', 'ada', '--mode', 'read-only'));
    const denied = await reader.submit(command('s1'));
    expect(await reader.until(denied, 'denied')).toMatchObject({ status: 'failed' });
    expect(existsSync(join(fixture.project, 'made'))).toBe(false);
  });
});

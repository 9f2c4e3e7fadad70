import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { agentFixture } from '../protocols/tasks/binary.ts';
import { textAnswer } from './daemon.ts';

interface Listed {
  readonly id: string;
  readonly owner: string;
  readonly scopes: readonly string[];
  readonly revokedAt?: string;
  readonly key?: string;
}

describe('polypod keys', () => {
  it('prints a new key once, stores only its hash, lists and revokes it', async () => {
    const fixture = await agentFixture();
    const file = join(fixture.dataDirectory, 'tasks/keys.json');
    expect(await fixture.polypod('keys', 'list')).toMatchObject({ code: 0, stdout: '' });
    const created = await fixture.polypod(
      'keys',
      'create',
      '--owner',
      'ci',
      '-s',
      'submit',
      '-s',
      'read,approve',
    );
    expect(created.code).toBe(0);
    const key = created.stdout.trim();
    expect(key).toMatch(/^ppk_[0-9a-f]{12}_[\w-]{43}$/);
    const id = key.split('_')[1] ?? '';
    expect(created.stderr).toBe(
      `polypod keys: ${id} for ci: submit, read, approve. It is not shown again.\n`,
    );
    const kept = readFileSync(file, 'utf8');
    expect(kept).toContain(id);
    expect(kept).not.toContain(key.slice(`ppk_${id}_`.length));
    expect((statSync(file).mode & 0o777).toString(8)).toBe('600');
    const { stdout } = await fixture.polypod('keys', 'list');
    expect(stdout).toMatch(
      new RegExp(
        `^id +owner +scopes +age +used +state +limits\\n${id} +ci +submit,read,approve +\\d+ s +never +good *\\n$`,
      ),
    );
    const more = [
      '--mode',
      'read-only',
      '--directory',
      'project',
      '--model',
      'a/b',
      '--grant',
      'pod',
      '--json',
    ];
    const { stdout: json } = await fixture.polypod('keys', 'create', ...more);
    expect(JSON.parse(json)).toEqual({
      id: expect.any(String),
      key: expect.stringMatching(/^ppk_/),
      owner: 'ada',
      scopes: ['submit', 'read'],
      createdAt: expect.any(String),
      limits: { mode: 'read-only', directories: [fixture.project], models: ['a/b'] },
      grants: ['pod'],
    });
    expect(await fixture.polypod('keys', 'revoke', id)).toMatchObject({
      code: 0,
      stderr: `polypod keys: ${id} of ci is revoked; its tasks are cancelled\n`,
    });
    const all = JSON.parse((await fixture.polypod('keys', 'list', '--json')).stdout) as Listed[];
    expect(all.map(({ revokedAt }) => revokedAt !== undefined)).toEqual([true, false]);
    expect(JSON.stringify(all)).not.toContain('hash');
    expect((await fixture.polypod('keys', 'list')).stdout).toMatch(/revoked \d+ s ago/);
  });

  it('apply immediately to a running agent, and a revoked key ends its streams', async () => {
    const fixture = await agentFixture([textAnswer('Hello.'), textAnswer('Again.')]);
    await fixture.agent();
    const own = fixture.client();
    await own.done(await own.submit());
    const key = await fixture.newKey('--owner', 'ada', '--scope', 'read');
    const reader = fixture.client(key);
    expect((await reader.get('/tasks')).status).toBe(200);
    expect((await reader.post('/submit_task', {})).status).toBe(403);
    const [stream, otherStream] = await Promise.all([
      reader.events('/sessions/s1/events'),
      own.events('/sessions/s1/events'),
    ]);
    await Promise.all([stream.waitFor('snapshot'), otherStream.waitFor('snapshot')]);
    expect((await fixture.polypod('keys', 'revoke', key.split('_')[1] ?? '')).code).toBe(0);
    // There are no requests in between: the agent detects the change itself.
    await stream.ended;
    expect(stream.received.at(-1)?.line.data).toMatchObject({ message: 'the key was revoked' });
    expect((await reader.get('/tasks')).status).toBe(401);
    await own.submit();
    await otherStream.waitFor('run_end');
  });

  it('are not lost when many processes change them at once', async () => {
    const fixture = await agentFixture();
    const first = await fixture.newKey('--owner', 'first');
    const names = Array.from({ length: 8 }, (_, at) => `owner-${at}`);
    await Promise.all([
      ...names.map((name) => fixture.newKey('--owner', name)),
      fixture.polypod('keys', 'revoke', first.split('_')[1] ?? ''),
    ]);
    const all = JSON.parse((await fixture.polypod('keys', 'list', '--json')).stdout) as Listed[];
    expect(all.map(({ owner }) => owner).toSorted()).toEqual(['first', ...names]);
    expect(all.find(({ owner }) => owner === 'first')).toHaveProperty('revokedAt');
    expect(readdirSync(join(fixture.dataDirectory, 'tasks'))).toEqual(['keys.json']);
  });

  it('reject invalid arguments with the next step, and change nothing', async () => {
    const fixture = await agentFixture();
    const key = await fixture.newKey();
    const id = key.split('_')[1] ?? '';
    for (const [args, message] of [
      [['create', '--scope', 'write'], '--scope cannot be "write": one of submit, read, approve, admin'],
      [['create', 'me'], 'keys create takes no argument, not "me"'],
      [['revoke', id, 'nothing'], 'there is no key "nothing"; polypod keys list shows the ids'],
      [['revoke'], 'revoke needs the id of a key'],
      [['make'], 'the action must be create, list, rotate or revoke'],
      [[], 'the action must be create, list, rotate or revoke'],
    ] as const) {
      const { code, stderr } = await fixture.polypod('keys', ...args);
      expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
    }
    const all = JSON.parse((await fixture.polypod('keys', 'list', '--json')).stdout) as Listed[];
    expect(all).toHaveLength(1);
    expect(all[0]).not.toHaveProperty('revokedAt');
    expect(existsSync(fixture.keyFile)).toBe(false);
  });
});

import { mkdirSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { canBecomeOrdinaryUser, giveTo, homeOf, ORDINARY_USER, polypodAs, USERS } from '../ordinary-user.ts';

describe.each(USERS)('the audit log as $name (built program)', ({ identity }) => {
  it('is written by commands with mode 600, and a linked key directory resolves to its target', async () => {
    const HOME = homeOf(identity);
    const project = join(HOME, 'project');
    mkdirSync(project);
    symlinkSync(project, join(HOME, 'link'));
    giveTo(identity, HOME);
    const run = (...args: readonly string[]): ReturnType<typeof polypodAs> =>
      polypodAs(identity, args, { HOME, USER: 'ada' });
    const created = await run('keys', 'create', '--owner', 'ci', '--directory', join(HOME, 'link'), '--json');
    expect(JSON.parse(created.stdout)).toMatchObject({ limits: { directories: [project] } });
    const verified = await run('audit', 'verify', '--json');
    expect({ code: verified.code, ...(JSON.parse(verified.stdout) as object) }).toMatchObject({
      code: 0,
      ok: true,
      entries: 2,
    });
    const logs = join(HOME, '.local/share/polypod/logs');
    for (const [path, mode] of [
      [logs, 0o700],
      [join(logs, 'audit.jsonl'), 0o600],
      [join(logs, 'audit.head'), 0o600],
      [join(HOME, '.local/share/polypod/tasks/keys.json'), 0o600],
    ] as const)
      expect([path, statSync(path).mode & 0o777]).toEqual([path, mode]);
  });
});

it.runIf(canBecomeOrdinaryUser)('another user can neither read nor verify the log', async () => {
  const HOME = homeOf({});
  expect((await polypodAs({}, ['keys', 'create'], { HOME, USER: 'ada' })).code).toBe(0);
  const dataDirectory = join(HOME, '.local/share/polypod');
  const other = { HOME: homeOf(ORDINARY_USER) };
  for (const args of [['audit'], ['audit', 'verify'], ['keys', 'list']]) {
    const { code, stdout } = await polypodAs(ORDINARY_USER, [...args, '--data-dir', dataDirectory], other);
    expect([args, code]).toEqual([args, expect.toSatisfy((one: number) => one !== 0)]);
    expect(stdout).not.toContain('key.created');
    expect(stdout).not.toContain('ada');
  }
});

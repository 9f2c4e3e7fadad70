import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cliFixture } from '../daemon.ts';

describe('the control socket', () => {
  it('rejects a session or an agent in a missing directory, and creates nothing', async () => {
    const fixture = await cliFixture();
    await fixture.serve();
    const link = await fixture.link();
    const file = join(fixture.home, 'file');
    writeFileSync(file, '');
    for (const method of ['new', 'agent-start']) {
      const refused = (cwd: unknown): Promise<unknown> => link.call(method, { cwd });
      await expect(refused(join(fixture.home, 'nowhere'))).rejects.toThrow(
        /nowhere: there is no such directory: create it, or name another/,
      );
      await expect(refused(file)).rejects.toThrow(/cannot work in .*file: it is not a directory/);
      await expect(refused('project')).rejects.toThrow('cwd must be an absolute path');
      await expect(refused(`${fixture.project}\0`)).rejects.toThrow(/cannot work in/);
      await expect(refused(7)).rejects.toThrow('cwd must be an absolute path, not 7');
      await expect(refused(undefined)).rejects.toThrow('cwd is missing');
    }
    expect(await link.call('ls', {})).toEqual({ sessions: [] });
    expect(existsSync(join(fixture.dataDirectory, 'tasks'))).toBe(false);
    expect(await link.call('new', { cwd: fixture.project })).toEqual({ id: expect.any(String) });
  });
});

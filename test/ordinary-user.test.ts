import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { homeOf, polypodAs, USERS } from './ordinary-user.ts';

describe.each(USERS)('as $name', ({ identity }) => {
  test('the built program runs and keeps its files for itself', async () => {
    const home = homeOf(identity);
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    const { code, stdout } = await polypodAs(identity, ['--version'], { HOME: home });
    expect({ code, stdout: stdout.trim() }).toEqual({ code: 0, stdout: expect.stringContaining(version) });
    const run = await polypodAs(identity, ['run', '--offline', 'say hello'], { HOME: home });
    expect(run).toMatchObject({ code: 0 });
  });
});

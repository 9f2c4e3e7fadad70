import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { polypod, temporaryDirectory } from './polypod.ts';

describe('polypod config init', () => {
  it('writes a commented configuration that only its owner can read, and doctor accepts it', async () => {
    const home = temporaryDirectory();
    const file = join(home, '.config/polypod/config.yaml');
    const env = { HOME: home };
    expect(await polypod(['config', 'init'], { env })).toMatchObject({
      code: 0,
      stdout: `${file}\n`,
      stderr: '',
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).toMatch(/^version: 1$/m);
    expect((await polypod(['doctor'], { env })).stdout).toContain('config.yaml');
    expect((await polypod(['ask', '-q', 'Hi'], { env })).code).toBe(0);
  });

  it('never overwrites a file, and reports that the file exists', async () => {
    const home = temporaryDirectory();
    const file = join(home, 'mine.yaml');
    writeFileSync(file, 'version: 1\n');
    const { code, stderr } = await polypod(['config', 'init'], { env: { HOME: home, POLYPOD_CONFIG: file } });
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`${file} exists and stays unchanged: edit it`),
    });
    expect(readFileSync(file, 'utf8')).toBe('version: 1\n');
  });

  it.each([
    [[], 'the action is missing: polypod config init'],
    [['show'], 'config cannot "show": polypod config init'],
  ])('rejects %j with the next step', async (args, sentence) => {
    const { code, stderr } = await polypod(['config', ...args]);
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(sentence) });
  });
});

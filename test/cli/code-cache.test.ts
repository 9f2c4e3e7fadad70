import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import module from 'node:module';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { call, cliFixture, textAnswer } from './daemon.ts';
import { polypod, start, temporaryDirectory } from './polypod.ts';

/** Node.js 22 and later have a cache of their own, with their own files. */
const isOurs = !('enableCompileCache' in module);

const codeOf = (home: string): string => join(home, '.cache/polypod/code');

/** Starts a daemon, waits until it is ready, and ends it. */
async function serve(home: string, env: Readonly<Record<string, string>> = {}): Promise<void> {
  const daemon = start(['serve', '--offline', '--quiet', '--json'], { HOME: home, ...env });
  await daemon.waitForOutput('"socket"');
  daemon.child.kill('SIGTERM');
  const { code, stderr } = await daemon.finished;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
}

/** The files with compiled code, and which version of each is there. */
function cachedFiles(home: string): Readonly<Record<string, string>> {
  const names = readdirSync(codeOf(home));
  return Object.fromEntries(
    names.map((name) => {
      const { ino, mtimeMs } = statSync(join(codeOf(home), name));
      return [name, `${ino} ${mtimeMs}`];
    }),
  );
}

describe('the cache of compiled code', () => {
  it('is written by the first process in a directory of this user', async () => {
    const home = temporaryDirectory();
    await serve(home);
    expect(statSync(codeOf(home)).mode & 0o777).toBe(0o700);
    expect(readdirSync(codeOf(home))).toHaveLength(1);
  });

  it('is not used if NODE_DISABLE_COMPILE_CACHE is set, and for commands that load little', async () => {
    const home = temporaryDirectory();
    await serve(home, { NODE_DISABLE_COMPILE_CACHE: '1' });
    for (const args of [['--version'], ['--help'], ['ls']]) await start(args, { HOME: home }).finished;
    expect(existsSync(codeOf(home))).toBe(false);
  });

  it('is not used if other users can write to its directory', async () => {
    const home = temporaryDirectory();
    await serve(home);
    const before = cachedFiles(home);
    for (const name of Object.keys(before))
      if (isOurs) writeFileSync(join(codeOf(home), name), 'damaged', { mode: 0o600 });
    const damaged = cachedFiles(home);
    chmodSync(codeOf(home), 0o770);
    await serve(home);
    expect(cachedFiles(home)).toEqual(damaged);
  });
});

it('cached code runs tools, and imports packages and modules of Node.js', async () => {
  const cache = temporaryDirectory();
  for (const round of ['compiled', 'cached']) {
    const fixture = await cliFixture([
      call('write', { path: 'written.txt', content: round }),
      call('edit', { path: 'written.txt', old: round, new: `${round} and edited` }),
      textAnswer('Done.'),
    ]);
    const env = { ...fixture.env, XDG_CACHE_HOME: cache };
    const args = ['run', '-C', fixture.project, '--mode', 'full-access', 'Write it.'];
    const { code, stderr, stdout } = await polypod(args, { env });
    expect({ code, stdout, stderr }).toMatchObject({ code: 0, stdout: expect.stringContaining('Done.') });
    expect(stderr).not.toContain('Warning');
    expect(readFileSync(join(fixture.project, 'written.txt'), 'utf8')).toBe(`${round} and edited`);
  }
});

describe.runIf(isOurs)('the cache of compiled code on Node.js 20', () => {
  it('is used by the next process, which compiles nothing', async () => {
    const home = temporaryDirectory();
    await serve(home);
    const first = cachedFiles(home);
    await serve(home);
    // It would replace the file if the code of a single module were missing.
    expect(cachedFiles(home)).toEqual(first);
  });

  it.each([
    ['other code', (bytes: Buffer) => bytes.fill(0x55, bytes.indexOf('\n') + 1000)],
    ['half of the bytes', (bytes: Buffer) => bytes.subarray(0, bytes.length / 2)],
    ['no bytes', () => Buffer.alloc(0)],
    ['no list of its parts', () => Buffer.from('{"files":[{"name":1,"bytes":-5}]}\nabc')],
  ])('is replaced if its file has %s', async (_, damage) => {
    const home = temporaryDirectory();
    await serve(home);
    const [name = ''] = Object.keys(cachedFiles(home));
    const file = join(codeOf(home), name);
    const intact = readFileSync(file);
    const damaged = damage(Buffer.from(intact));
    writeFileSync(file, damaged);
    await serve(home);
    expect(readFileSync(file).equals(damaged)).toBe(false);
    const replaced = cachedFiles(home);
    await serve(home);
    expect(cachedFiles(home)).toEqual(replaced);
  });

  it('is not used if other users can write to its file', async () => {
    const home = temporaryDirectory();
    await serve(home);
    const first = cachedFiles(home);
    const [name = ''] = Object.keys(first);
    chmodSync(join(codeOf(home), name), 0o666);
    await serve(home);
    expect(cachedFiles(home)).not.toEqual(first);
    expect(statSync(join(codeOf(home), name)).mode & 0o777).toBe(0o600);
  });
});

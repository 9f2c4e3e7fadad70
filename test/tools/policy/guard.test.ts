import { renameSync, rmSync, symlinkSync } from 'node:fs';
import { mkdir, realpath, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Access } from '../../../src/tools/index.ts';
import {
  examine,
  fileFacts,
  guardFor,
  isInside,
  type Policy,
  realPath,
} from '../../../src/tools/policy/index.ts';
import { policyFor, usual } from './attempt.ts';
import { runsOf } from './runs.ts';
import { discard, freshWorkspace, guarded, plainWorkspace, snapshot, type Workspace } from './workspace.ts';

async function guardOf(access: readonly Access[], workspace: Workspace, policy?: Policy) {
  const call = { tool: 'write', access: await examine(access, fileFacts) };
  return guardFor(call, policy ?? (await policyFor(usual, workspace)), realPath);
}

describe('at the moment of use', () => {
  it('a path inside the scope resolves to its real path', async () => {
    const workspace = await freshWorkspace();
    const path = join(workspace.cwd, 'link-in.ts');
    const guard = await guardOf([{ type: 'read', path }], workspace);
    expect(await guard(path, 'read')).toBe(join(workspace.cwd, 'src/a.ts'));
    expect(await guard(join(workspace.cwd, 'new/file'), 'write')).toBe(join(workspace.cwd, 'new/file'));
  });

  it.each([
    ['a file', (cwd: string) => join(cwd, 'notes.txt'), '../canary/secret.txt'],
    ['a file', (cwd: string) => join(cwd, 'notes.txt'), '.env'],
    ['a missing file', (cwd: string) => join(cwd, 'later.txt'), '../canary/new.txt'],
    ['its directory', (cwd: string) => join(cwd, 'docs'), '../canary'],
    ['its directory', (cwd: string) => join(cwd, 'docs'), '.git/hooks'],
  ])('a link that replaced %s is rejected', async (_, replacedPath, target) => {
    const workspace = await freshWorkspace();
    const location = replacedPath(workspace.cwd);
    const path = location.endsWith('docs') ? join(location, 'guide.md') : location;
    const guard = await guardOf([{ type: 'write', path }], workspace);
    expect(await guard(path, 'write')).toBe(path);
    rmSync(location, { recursive: true, force: true });
    symlinkSync(target, location);
    await expect(guard(path, 'write')).rejects.toMatchObject({ code: 'denied' });
  });

  it('an approved access passes, and nothing else', async () => {
    const workspace = await freshWorkspace();
    const outside = join(workspace.root, 'canary/secret.txt');
    const secret = join(workspace.cwd, '.env');
    const guard = await guardOf(
      [
        { type: 'read', path: join(workspace.cwd, 'link-out.txt') },
        { type: 'write', path: secret },
      ],
      workspace,
    );
    expect(await guard(outside, 'read')).toBe(outside);
    expect(await guard(secret, 'write')).toBe(secret);
    await expect(guard(outside, 'write')).rejects.toMatchObject({ code: 'denied' });
    await expect(guard(secret, 'read')).rejects.toMatchObject({ code: 'denied' });
    await expect(guard(`${outside}.bak`, 'read')).rejects.toMatchObject({ code: 'denied' });
    await expect(guard(join(workspace.root, 'ws-other/file.txt'), 'read')).rejects.toMatchObject({
      code: 'denied',
    });
  });

  it('a readable directory is readable recursively, except for secrets', async () => {
    const workspace = await freshWorkspace();
    const canary = join(workspace.root, 'canary');
    const guard = await guardOf([{ type: 'read', path: canary }], workspace);
    expect(await guard(join(canary, 'secret.txt'), 'read')).toBe(join(canary, 'secret.txt'));
    await expect(guard(join(canary, '.ssh/id_rsa'), 'read')).rejects.toMatchObject({ code: 'denied' });
    await expect(guard(join(canary, 'secret.txt'), 'write')).rejects.toMatchObject({ code: 'denied' });
  });

  it('a deny rule also applies to approved accesses', async () => {
    const workspace = await freshWorkspace();
    const path = join(workspace.cwd, 'src/a.ts');
    const policy = await policyFor({ ...usual, rules: [{ path: 'src/**', action: 'deny' }] }, workspace);
    const guard = await guardOf([{ type: 'read', path }], workspace, policy);
    await expect(guard(path, 'read')).rejects.toMatchObject({ code: 'denied' });
  });

  it.each(['relative', 'nul\0byte', ''])('%j is rejected', async (path) => {
    const workspace = await freshWorkspace();
    const guard = await guardOf([], workspace);
    await expect(guard(path, 'write')).rejects.toMatchObject({ code: 'denied' });
  });
});

const NAMES = [
  'a',
  'b',
  'c',
  'src',
  'docs',
  'link-in.ts',
  'dir-out',
  'up',
  'chain',
  'dir-in',
  'link-new',
  '.env',
  '.git',
];
const paths = fc
  .array(
    fc.oneof(fc.constantFrom(...NAMES), fc.constantFrom('..', '.', '', 'canary', 'ws', 'hooks', 'new.txt')),
    {
      minLength: 1,
      maxLength: 6,
    },
  )
  .map((segments) => segments.join('/') || '.');
const targets = fc.oneof(
  paths,
  fc.constantFrom('ROOT/canary', 'ROOT', '..', '../canary/new.txt', '.git/hooks', 'a', 'b'),
);
const links = fc.record({ name: fc.constantFrom('a', 'b', 'c', 'src/a', 'docs/b'), target: targets });

describe('for any links', () => {
  it('a write never reaches a location outside the scope', async () => {
    let written = 0;
    const expected = guarded(snapshot(plainWorkspace().root));
    await fc.assert(
      fc.asyncProperty(
        fc.array(links, { maxLength: 4 }),
        paths,
        fc.array(links, { maxLength: 2 }),
        async (planted, path, swaps) => {
          const workspace = plainWorkspace();
          for (const link of planted) plant(link, workspace);
          const wanted = `${workspace.cwd}/${path}`;
          const guard = await guardOf([], workspace);
          for (const link of swaps) plant(link, workspace);
          const real = await guard(wanted, 'write').catch(() => undefined);
          if (real !== undefined && (await tryToWrite(real))) {
            written += 1;
            // The location according to the kernel.
            expect(isInside(workspace.cwd, await realpath(real)), real).toBe(true);
          }
          expect(guarded(snapshot(workspace.root))).toEqual(expected);
          discard(workspace);
        },
      ),
      { numRuns: runsOf(80) },
    );
    expect(written).toBeGreaterThan(8);
  }, 600_000);

  it('a path resolves like the system resolves it', async () => {
    const workspace = await freshWorkspace();
    await fc.assert(
      fc.asyncProperty(fc.array(links, { maxLength: 3 }), paths, async (planted, path) => {
        for (const link of planted) plant(link, workspace);
        const wanted = `${workspace.cwd}/${path}`;
        const expected = await realpath(wanted).catch(() => undefined);
        if (expected !== undefined) expect(await realPath(wanted)).toEqual({ real: expected });
      }),
      { numRuns: runsOf(300) },
    );
  }, 600_000);
});

/** Puts a link into the workspace, replacing what is there. */
function plant({ name, target }: { name: string; target: string }, { root, cwd }: Workspace): void {
  const path = join(cwd, name);
  try {
    renameSync(path, `${path}.${Math.random()}`);
  } catch {
    // Nothing to remove.
  }
  symlinkSync(target.replaceAll('ROOT', root), path);
}

/** Returns false if a file is where a directory is needed, or the reverse. */
async function tryToWrite(path: string): Promise<boolean> {
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, 'written');
    return true;
  } catch {
    return false;
  }
}

import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { isStartupFile, startupFilesBelow } from '../../../src/tools/policy/index.ts';

const RUN_LATER = [
  '.git/config',
  '.git/hooks/pre-commit',
  'deep/nested/.git',
  'nested/commondir',
  'tools/hooks/post-checkout',
  '.husky/pre-commit',
  '.githooks/pre-push',
  '.pre-commit-config.yaml',
  'lefthook.yml',
  '.envrc',
  '.claude/settings.json',
  '.claude/settings.local.json',
  '.mcp.json',
  '.cursor/mcp.json',
  '.vscode/tasks.json',
  '.vscode/settings.json',
  '.vscode/launch.json',
  '.idea/runConfigurations/all.xml',
  '.devcontainer/devcontainer.json',
  '.devcontainer.json',
  '.config/systemd/user/a.service',
  '.config/autostart/a.desktop',
  'Library/LaunchAgents/a.plist',
  '.bashrc',
  '.zshrc',
  '.profile',
  '.vimrc',
  '.exrc',
  '.nvim.lua',
  '.emacs.d/init.el',
  '.dir-locals.el',
  '.inputrc',
  '.gdbinit',
  '.npmrc',
  '.yarnrc.yml',
  '.pnp.cjs',
  '.pythonrc',
  'lib/sitecustomize.py',
  'venv/lib/site-packages/a.pth',
  'crontab',
  '.ssh/authorized_keys',
  '.ssh/config',
  'node_modules/.bin/tsc',
  '.cargo/config.toml',
  'rust-toolchain.toml',
  // The same files on file systems that ignore case, compatibility forms or invisible characters.
  '.GIT/config',
  '.ｇｉｔ/config',
  '.g\u200cit/config',
  '.BashRC',
  '.VSCode/tasks.json',
];

const SOURCE = [
  'src/index.ts',
  'test/conftest.py',
  'conftest.py',
  'Makefile',
  'setup.py',
  'pyproject.toml',
  'Cargo.toml',
  'build.rs',
  'eslint.config.js',
  'vite.config.ts',
  'tsconfig.json',
  '.gitignore',
  '.gitattributes',
  '.editorconfig',
  '.prettierrc',
  '.github/workflows/ci.yml',
  'src/hooks/useUpdate.ts',
  'src/config.ts',
  'model.pth',
  'docs/git.md',
  'scripts/release.sh',
  '.nvmrc',
];

describe('files that other programs execute later', () => {
  it.each(RUN_LATER)('%s is one', (path) => expect(isStartupFile(`/project/${path}`)).toBe(true));
  it.each(SOURCE)('%s is source', (path) => expect(isStartupFile(`/project/${path}`)).toBe(false));

  const root = mkdtempSync(join(tmpdir(), 'polypod-startup-'));
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  it('are found below a directory, each at its topmost path', async () => {
    for (const name of [
      '.git/config',
      'a/.git/HEAD',
      'a/b/.envrc',
      'a/src/index.ts',
      'a/.vscode/tasks.json',
    ]) {
      mkdirSync(dirname(join(root, name)), { recursive: true });
      writeFileSync(join(root, name), '');
    }
    symlinkSync('/etc', join(root, 'a/.husky'));
    symlinkSync('..', join(root, 'a/loop'));
    expect(await startupFilesBelow(root)).toEqual({
      paths: ['.git', 'a/.git', 'a/.husky', 'a/.vscode', 'a/b/.envrc'].map((name) => join(root, name)),
      complete: true,
    });
    expect(await startupFilesBelow(root, { mostEntries: 3 })).toMatchObject({ complete: false });
  });
});

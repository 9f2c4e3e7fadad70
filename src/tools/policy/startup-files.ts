import { readdir } from 'node:fs/promises';
import { compileFileList, normalizePath } from './secret-files.ts';

/**
 * Files that another program executes, or takes commands from, when a person later opens, enters or uses the
 * directory or the machine: outside any approval and any sandbox. Writing them needs approval in every mode but
 * full-access.
 *
 * A file that runs only through the project's own build and test commands counts as source: agents edit it,
 * people review it, and running those commands needs approval anyway. So Makefile, conftest.py, build.rs,
 * setup.py, linter and bundler configurations and CI workflows are not in this list. The `scripts` of a
 * package.json are judged by what a write changes in them.
 */
const STARTUP = {
  versionControl: [
    '.git/**',
    '.gitconfig',
    '.gitmodules',
    '.config/git/**',
    // Git treats a directory with these files as a repository, whatever its name.
    'commondir',
    'config.worktree',
    ...hooks('hooks'),
    '.hg/**',
    '.hgrc',
    '.config/hg/**',
    '.svn/**',
    '.bzr/**',
    '.jj/**',
    '.sl/**',
  ],
  gitHooks: [
    '.husky/**',
    '.githooks/**',
    '.git-hooks/**',
    '.huskyrc*',
    '.pre-commit-config.yaml',
    '.pre-commit-config.yml',
    '.overcommit.yml',
    'lefthook*.yml',
    'lefthook*.yaml',
    'lefthook*.toml',
    'lefthook*.json',
    '.lefthook*',
    '.lefthook/**',
    '.lefthook-local/**',
    '.lintstagedrc*',
    'lint-staged.config.*',
  ],
  agents: [
    '.mcp.json',
    '.claude/**',
    '.claude.json',
    '.cursor/**',
    '.windsurf/**',
    '.codex/**',
    '.gemini/**',
    '.opencode/**',
    'opencode.json',
    'opencode.jsonc',
    '.config/opencode/**',
    '.config/goose/**',
    '.aider.conf.yml',
    '.continue/**',
    '.roo/**',
    '.kiro/**',
    '.amazonq/**',
    '.factory/**',
    '.pi/**',
    '.polypod/**',
    '.humanlayer/**',
  ],
  editors: [
    '.vscode/**',
    '.vscode-server/**',
    '*.code-workspace',
    '.config/code/user/**',
    '.config/vscodium/user/**',
    '.config/cursor/user/**',
    'library/application support/code/user/**',
    '.idea/**',
    '.fleet/**',
    '.zed/**',
    '.config/zed/**',
    '.devcontainer/**',
    '.devcontainer.json',
    '.gitpod.yml',
    '.replit',
    '*.sublime-project',
    '.vim/**',
    '.vimrc',
    '_vimrc',
    '.gvimrc',
    '.exrc',
    '.lvimrc',
    '.local.vimrc',
    '.vimrc.local',
    '.nvimrc',
    '.nvim.lua',
    '.nvim/**',
    '.config/nvim/**',
    '.config/vim/**',
    '.emacs',
    '.emacs.el',
    '.emacs.d/**',
    '.config/emacs/**',
    '.doom.d/**',
    '.config/doom/**',
    '.spacemacs',
    '.dir-locals.el',
    '.dir-locals-2.el',
    '.helix/**',
    '.config/helix/**',
    '.kakrc',
    '.config/kak/**',
    '.nanorc',
  ],
  shells: [
    '.bashrc',
    '.bash_profile',
    '.bash_login',
    '.bash_logout',
    '.bash_aliases',
    '.bash_completion',
    '.profile',
    '.zshrc',
    '.zshenv',
    '.zprofile',
    '.zlogin',
    '.zlogout',
    '.config/zsh/**',
    '.oh-my-zsh/**',
    '.kshrc',
    '.mkshrc',
    '.shrc',
    '.cshrc',
    '.tcshrc',
    '.login',
    '.logout',
    '.xonshrc',
    '.config/fish/**',
    '.config/nushell/**',
    '.config/powershell/**',
    'profile.ps1',
    '*_profile.ps1',
    '.inputrc',
    '.envrc',
    '.direnvrc',
    '.config/direnv/**',
    'mise.toml',
    'mise.*.toml',
    '.mise.toml',
    '.mise.*.toml',
    '.mise/**',
    '.config/mise/**',
    '.tool-versions',
    '.screenrc',
    '.tmux.conf',
    '.config/tmux/**',
    '.local/bin/**',
  ],
  session: [
    '.xprofile',
    '.xinitrc',
    '.xsession',
    '.xsessionrc',
    '.xsessionrc.d/**',
    '.pam_environment',
    '.config/environment.d/**',
    '.config/systemd/**',
    '.local/share/systemd/**',
    'systemd/user/**',
    '.config/autostart/**',
    '.local/share/applications/**',
    '.local/share/dbus-1/**',
    'library/launchagents/**',
    'library/launchdaemons/**',
    'crontab',
    '.crontab',
    'var/spool/cron/**',
    'etc/cron*/**',
    'etc/crontab',
    'etc/profile',
    'etc/profile.d/**',
    'etc/bash.bashrc',
    'etc/environment',
    'etc/init.d/**',
    'etc/rc.local',
    'etc/systemd/**',
    'etc/udev/**',
    'etc/pam.d/**',
    'etc/sudoers',
    'etc/sudoers.d/**',
    'etc/ld.so.preload',
    'etc/ld.so.conf',
    'etc/ld.so.conf.d/**',
    '.ssh/**',
    '.gnupg/**',
  ],
  /** Files that package managers and language tools run, or that select the program they run. */
  tools: [
    '.npmrc',
    '.yarnrc',
    '.yarnrc.yml',
    '.yarn/releases/**',
    '.yarn/plugins/**',
    '.pnp.cjs',
    '.pnp.js',
    '.pnp.loader.mjs',
    '.pnpmfile.*',
    // pnpm reads these instead of package.json.
    'package.json5',
    'package.yaml',
    'pnpmfile.js',
    'bunfig.toml',
    'node_modules/.bin/**',
    '.cargo/config',
    '.cargo/config.toml',
    '.cargo/bin/**',
    'rust-toolchain',
    'rust-toolchain.toml',
    'sitecustomize.py',
    'usercustomize.py',
    'site-packages/*.pth',
    'dist-packages/*.pth',
    '.pythonrc',
    '.pythonrc.py',
    '.pythonstartup',
    '.pdbrc',
    '.pdbrc.py',
    '.ipython/**',
    '.jupyter/**',
    'pip.conf',
    '.pip/**',
    '.config/pip/**',
    '.irbrc',
    '.pryrc',
    '.gemrc',
    '.bundle/**',
    '.perldb',
    '.rprofile',
    '.renviron',
    '.ghci',
    '.octaverc',
    '.julia/config/**',
    '.mvn/**',
    '.m2/**',
    '.gradle/init.gradle*',
    '.gradle/init.d/**',
    '.gradle/gradle.properties',
    '.terraformrc',
    '.terraform.d/**',
    '.docker/**',
    '.gdbinit',
    '.gdbearlyinit',
    '.config/gdb/**',
    '.lldbinit',
    '.psqlrc',
    '.sqliterc',
    '.curlrc',
    '.wgetrc',
    '.ripgreprc',
    '.ackrc',
    '.lessfilter',
    '.lesskey',
    '.mailcap',
    '.jq',
    '.jq/**',
    '.magic',
    '.magic/**',
    '.terminfo/**',
  ],
} as const;

/** Hooks by name, because their directory may have any name. */
function hooks(directory: string): readonly string[] {
  return (
    'applypatch-msg commit-msg fsmonitor-watchman post-applypatch post-checkout post-commit post-index-change post-merge ' +
    'post-receive post-rewrite post-update pre-applypatch pre-auto-gc pre-commit pre-merge-commit pre-push pre-rebase ' +
    'pre-receive prepare-commit-msg push-to-checkout reference-transaction sendemail-validate update'
  )
    .split(' ')
    .map((name) => `${directory}/${name}`);
}

const startup = compileFileList(Object.values(STARTUP).flat());

/**
 * Returns whether a write would decide what another program runs later. The path is absolute; links are not
 * followed.
 */
export function isStartupFile(path: string): boolean {
  return path.length <= MAX_CHARACTERS && startup.test(normalizePath(path));
}

const MAX_CHARACTERS = 10_000;

export interface StartupFiles {
  /** Each start-up file, or the topmost directory that counts as a whole (`.git`, `.husky`). */
  readonly paths: readonly string[];
  /** False if there were too many entries; the list may then be incomplete. */
  readonly complete: boolean;
}

/** Returns every start-up file below a directory. Links are not followed, but a link with such a name is listed. */
export async function startupFilesBelow(
  directory: string,
  { mostEntries: maxEntries = 200_000 }: { readonly mostEntries?: number } = {},
): Promise<StartupFiles> {
  const paths: string[] = [];
  const waiting = [directory];
  let remaining = maxEntries;
  for (let current = waiting.pop(); current !== undefined; current = waiting.pop()) {
    // A directory that cannot be listed cannot be entered by a program that would run something in it.
    const entries = await readdir(current, { withFileTypes: true }).catch(() => []);
    remaining -= entries.length;
    if (remaining < 0) return { paths, complete: false };
    for (const entry of entries) {
      const path = current === '/' ? `/${entry.name}` : `${current}/${entry.name}`;
      if (isStartupFile(path)) paths.push(path);
      else if (entry.isDirectory()) waiting.push(path);
    }
  }
  return { paths: paths.toSorted(), complete: true };
}

import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { Workspace } from './workspace.ts';

const ENV = {
  PATH: '/usr/local/bin:/usr/bin:/bin',
  HOME: '/nonexistent',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@example.com',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@example.com',
};

/** Plain git, as a user runs it. */
export function git(cwd: string, ...args: readonly string[]): string {
  return execFileSync('git', args, { cwd, env: ENV, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

export function put(file: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  chmodSync(file, mode);
}

/** The file that appears if the repository made something run. */
export function canaryOf({ root }: Workspace): string {
  return join(root, 'canary/ran');
}

/** A program that leaves a mark, and forwards its input if it is a filter. */
export function trap(workspace: Workspace): string {
  const program = join(workspace.root, 'canary/trap.sh');
  put(program, `#!/bin/sh\necho "$0 $*" >> '${canaryOf(workspace)}'\ncat 2> /dev/null\nexit 0\n`, 0o755);
  return program;
}

export function hasRun(workspace: Workspace): boolean {
  return existsSync(canaryOf(workspace));
}

/** One setting, attribute or file that makes plain git run a program or show outside content. */
export interface Vector {
  readonly name: string;
  readonly plant: (workspace: Workspace, program: string) => void;
  /** A command that would trigger it. */
  readonly commands: readonly string[];
  /** Whether git needs approval because of it. Otherwise it runs, and runs nothing else. */
  readonly asks?: boolean;
}

const config =
  (text: (program: string) => string) =>
  ({ cwd }: Workspace, program: string): void =>
    appendFileSync(join(cwd, '.git/config'), `${text(program)}\n`);

/** Makes git compare a file by its content: another time, the same size. */
function touch({ cwd }: Workspace): void {
  utimesSync(join(cwd, 'notes.txt'), 1, 1);
  writeFileSync(join(cwd, 'src/b.ts'), 'export const b = 3;\n');
}

const attributes = ({ cwd }: Workspace, text: string): void => put(join(cwd, '.gitattributes'), text);

const READS = [
  'git status',
  'git diff',
  'git diff --quiet',
  'git log -p -2',
  'git show HEAD',
  'git blame notes.txt',
  'git ls-files -m',
  'git stash show -p',
];

export const VECTORS: readonly Vector[] = [
  {
    name: 'core.fsmonitor',
    plant: config((program) => `[core]\n\tfsmonitor = ${program}`),
    commands: READS,
  },
  {
    name: 'hooks',
    plant: ({ cwd }, program) => {
      for (const hook of [
        'post-index-change',
        'reference-transaction',
        'fsmonitor-watchman',
        'post-checkout',
      ])
        put(join(cwd, '.git/hooks', hook), `#!/bin/sh\n${program}\n`, 0o755);
    },
    commands: READS,
  },
  {
    name: 'core.hooksPath',
    plant: (workspace, program) => {
      put(join(workspace.cwd, 'hooks.d/post-index-change'), `#!/bin/sh\n${program}\n`, 0o755);
      config(() => '[core]\n\thooksPath = hooks.d')(workspace, program);
    },
    commands: READS,
  },
  {
    name: 'textconv',
    plant: (workspace, program) => {
      attributes(workspace, '* diff=evil\n');
      config(() => `[diff "evil"]\n\ttextconv = ${program}\n\tcachetextconv = true`)(workspace, program);
    },
    commands: READS,
  },
  {
    name: 'external diff',
    plant: (workspace, program) => {
      attributes(workspace, '*.ts diff=evil\n');
      config(() => `[diff]\n\texternal = ${program}\n[diff "evil"]\n\tcommand = ${program}`)(
        workspace,
        program,
      );
    },
    commands: READS,
  },
  {
    name: 'clean, smudge and process filters',
    plant: (workspace, program) => {
      attributes(workspace, '*.txt filter=evil\n*.ts filter=other\n');
      config(
        () =>
          `[filter "evil"]\n\tclean = ${program}\n\tsmudge = ${program}\n\trequired = true\n[filter "other"]\n\tprocess = ${program}`,
      )(workspace, program);
    },
    commands: READS,
  },
  {
    name: 'info/attributes',
    plant: (workspace, program) => {
      put(join(workspace.cwd, '.git/info/attributes'), '* diff=evil filter=evil\n');
      config(() => `[filter "evil"]\n\tclean = ${program}\n[diff "evil"]\n\ttextconv = ${program}`)(
        workspace,
        program,
      );
    },
    commands: READS,
  },
  {
    name: 'a nested repository with a filter',
    plant: ({ cwd }, program) => {
      const nested = join(cwd, 'nested');
      put(join(nested, 'a.txt'), 'one\n');
      git(nested, 'init', '-q', '--template=');
      git(nested, 'add', '.');
      git(nested, 'commit', '-qm', 'nested');
      git(cwd, 'add', 'nested');
      put(join(nested, '.gitattributes'), '* filter=evil\n');
      appendFileSync(
        join(nested, '.git/config'),
        `[filter "evil"]\n\tclean = ${program}\n[core]\n\tfsmonitor = ${program}\n`,
      );
      utimesSync(join(nested, 'a.txt'), 1, 1);
    },
    commands: READS,
  },
  {
    name: 'a submodule that is not to be ignored',
    plant: (workspace, program) => {
      const { cwd } = workspace;
      put(join(cwd, 'sub/a.txt'), 'one\n');
      git(join(cwd, 'sub'), 'init', '-q', '--template=');
      git(join(cwd, 'sub'), 'add', '.');
      git(join(cwd, 'sub'), 'commit', '-qm', 'sub');
      git(cwd, 'add', 'sub');
      put(join(cwd, '.gitmodules'), '[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n\tignore = none\n');
      put(join(cwd, 'sub/.gitattributes'), '* filter=evil diff=evil\n');
      appendFileSync(
        join(cwd, 'sub/.git/config'),
        `[filter "evil"]\n\tclean = ${program}\n[core]\n\tfsmonitor = ${program}\n`,
      );
      config(
        () =>
          '[diff]\n\tignoreSubmodules = none\n\tsubmodule = diff\n[status]\n\tsubmoduleSummary = true\n[submodule]\n\trecurse = true',
      )(workspace, program);
      utimesSync(join(cwd, 'sub/a.txt'), 1, 1);
    },
    commands: READS,
  },
  {
    name: 'a promisor remote',
    plant: (workspace, program) => {
      config(
        () =>
          `[remote "origin"]\n\turl = ext::${program}\n\tpromisor = true\n\tpartialclonefilter = blob:none\n[extensions]\n\tpartialClone = origin\n[protocol "ext"]\n\tallow = always\n[core]\n\trepositoryformatversion = 1\n\tsshCommand = ${program}`,
      )(workspace, program);
      // A missing object would be fetched.
      const [id = ''] = git(workspace.cwd, 'rev-parse', 'HEAD:notes.txt').split('\n');
      execFileSync('rm', ['-f', join(workspace.cwd, '.git/objects', id.slice(0, 2), id.slice(2))]);
    },
    commands: [
      'git show HEAD:notes.txt',
      'git log -p',
      'git diff HEAD',
      'git cat-file -p HEAD:notes.txt',
      'git grep one HEAD',
      'git ls-tree -l HEAD',
    ],
  },
  {
    name: 'signature programs',
    plant: (workspace, program) => {
      config(
        () =>
          `[log]\n\tshowSignature = true\n[gpg]\n\tprogram = ${program}\n[gpg "ssh"]\n\tprogram = ${program}\n[format]\n\tpretty = %h %G?\n[pretty]\n\tevil = %G?`,
      )(workspace, program);
      const { cwd } = workspace;
      const commit = git(cwd, 'cat-file', 'commit', 'HEAD').replace(
        '\n\n',
        '\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ==\n -----END PGP SIGNATURE-----\n\n',
      );
      put(join(workspace.root, 'tmp/commit'), commit);
      const id = git(cwd, 'hash-object', '-t', 'commit', '-w', join(workspace.root, 'tmp/commit')).trim();
      git(cwd, 'update-ref', 'HEAD', id);
    },
    commands: [
      'git log',
      'git show',
      'git log --pretty=evil',
      'git log -1 --format=%h',
      'git reflog',
      'git stash list',
    ],
  },
  {
    name: 'pager and aliases',
    plant: config(
      (program) =>
        `[core]\n\tpager = ${program}\n[pager]\n\tlog = ${program}\n\tstatus = true\n[alias]\n\tst = !${program}\n\tstatus = !${program}\n\tlog = !${program}`,
    ),
    commands: READS,
  },
  {
    name: 'an include',
    plant: (workspace, program) => {
      put(join(workspace.cwd, 'evil.config'), `[core]\n\tfsmonitor = ${program}\n`);
      config(() => '[include]\n\tpath = ../evil.config\n[includeIf "gitdir:**"]\n\tpath = ../evil.config')(
        workspace,
        program,
      );
    },
    commands: READS,
  },
  {
    name: 'config.worktree',
    plant: (workspace, program) => {
      put(join(workspace.cwd, '.git/config.worktree'), `[core]\n\tfsmonitor = ${program}\n`);
      config(() => '[extensions]\n\tworktreeConfig = true')(workspace, program);
    },
    commands: READS,
  },
  {
    name: 'a setting that does not exist yet',
    plant: config((program) => `[core]\n\tfutureMonitor = ${program}\n[future "x"]\n\tcommand = ${program}`),
    commands: READS,
  },
  {
    name: 'core.worktree',
    plant: config(() => '[core]\n\tworktree = ../../canary'),
    commands: ['git status', 'git ls-files -o', 'git diff', 'git grep --no-index CANARY'],
    asks: true,
  },
  {
    name: 'alternates',
    plant: ({ cwd, root }) => put(join(cwd, '.git/objects/info/alternates'), `${root}/canary/objects\n`),
    commands: ['git log', 'git status'],
    asks: true,
  },
  {
    name: 'linked objects',
    plant: ({ cwd, root }) => {
      mkdirSync(join(root, 'canary/pack'), { recursive: true });
      execFileSync('rm', ['-rf', join(cwd, '.git/objects/pack')]);
      symlinkSync(join(root, 'canary/pack'), join(cwd, '.git/objects/pack'));
    },
    commands: ['git log', 'git show'],
    asks: true,
  },
  {
    name: 'a linked reference',
    plant: ({ cwd, root }) => symlinkSync(join(root, 'canary/secret.txt'), join(cwd, '.git/refs/heads/evil')),
    commands: ['git branch', 'git log --all'],
    asks: true,
  },
  {
    name: 'a linked .git',
    plant: ({ cwd, root }) => {
      execFileSync('mv', [join(cwd, '.git'), join(root, 'moved')]);
      symlinkSync(join(root, 'moved'), join(cwd, '.git'));
    },
    commands: ['git status', 'git log'],
    asks: true,
  },
  {
    name: 'a file .git that leads elsewhere',
    plant: (workspace, program) => {
      const { cwd, root } = workspace;
      execFileSync('mv', [join(cwd, '.git'), join(root, 'moved')]);
      appendFileSync(join(root, 'moved/config'), `[core]\n\tfsmonitor = ${program}\n`);
      put(join(cwd, '.git'), `gitdir: ${root}/moved\n`);
    },
    commands: ['git status', 'git log'],
    asks: true,
  },
  ...[' ', '\r', ' \n'].map(
    (end): Vector => ({
      name: `a file .git that ends in ${JSON.stringify(end)}`,
      plant: (workspace, program) => {
        const { cwd } = workspace;
        const other = join(cwd, `other${end.trimEnd() === '' && end.startsWith(' ') ? ' ' : ''}`);
        execFileSync('cp', ['-a', join(cwd, '.git'), join(cwd, 'other')]);
        execFileSync('cp', ['-a', join(cwd, '.git'), `${other}x`]);
        if (other.endsWith(' ')) execFileSync('mv', [`${other}x`, other]);
        appendFileSync(join(other, 'config'), `[core]\n\tfsmonitor = ${program}\n`);
        execFileSync('rm', ['-rf', join(cwd, '.git')]);
        put(join(cwd, '.git'), `gitdir: other${end}`);
      },
      commands: ['git status', 'git diff'],
    }),
  ),
  {
    name: 'a directory with only HEAD and commondir',
    plant: ({ cwd }, program) => {
      const common = join(cwd, 'planted/common');
      execFileSync('mkdir', ['-p', common]);
      execFileSync('cp', ['-a', `${cwd}/.git/.`, common]);
      appendFileSync(
        join(common, 'config'),
        `[core]\n\tbare = false\n\tworktree = ${cwd}\n\tfsmonitor = ${program}\n[diff "evil"]\n\ttextconv = ${program}\n`,
      );
      put(join(cwd, 'planted/HEAD'), 'ref: refs/heads/main\n');
      put(join(cwd, 'planted/commondir'), 'common\n');
      put(join(common, 'info/attributes'), '* diff=evil\n');
    },
    commands: [
      'cd planted && git show',
      'cd planted; git status',
      'git -C planted log -p',
      'cd planted/common && git status',
    ],
    asks: true,
  },
  {
    name: 'a bare repository in a directory',
    plant: ({ cwd }, program) =>
      appendFileSync(join(cwd, 'bare/config'), `[diff]\n\texternal = ${program}\n`),
    commands: ['cd bare && git status', 'git -C bare log'],
    asks: true,
  },
  {
    name: 'a repository with core.bare',
    plant: config((program) => `[core]\n\tbare = true\n\tfsmonitor = ${program}`),
    commands: ['git log', 'git show'],
    asks: true,
  },
  {
    name: 'a split index',
    plant: ({ cwd }) => git(cwd, 'update-index', '--split-index'),
    commands: ['git status', 'git diff'],
    asks: true,
  },
  {
    name: 'a sparse checkout',
    plant: ({ cwd }) => git(cwd, 'sparse-checkout', 'set', 'src'),
    commands: ['git status'],
    asks: true,
  },
  {
    name: 'an index that is not one',
    plant: ({ cwd }) => writeFileSync(join(cwd, '.git/index'), 'DIRC'),
    commands: ['git status', 'git diff'],
    asks: true,
  },
];

/** Plants a vector in a workspace with changed files. */
export function plant(vector: Vector, workspace: Workspace): void {
  put(join(workspace.cwd, 'stashed.txt'), 'stash\n');
  git(workspace.cwd, 'add', 'stashed.txt');
  git(workspace.cwd, 'stash', '-q');
  vector.plant(workspace, trap(workspace));
  touch(workspace);
}

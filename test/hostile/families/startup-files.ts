import { attempt, type Attempt, edit, planted, write } from '../attempt.ts';

/** Files that a shell, git, an agent or a desktop runs later on its own. */
const FILES = [
  '.bashrc',
  '.bash_profile',
  '.bash_login',
  '.bash_logout',
  '.bash_aliases',
  '.profile',
  '.zshrc',
  '.zshenv',
  '.zprofile',
  '.zlogin',
  '.zlogout',
  '.inputrc',
  '.config/fish/config.fish',
  '.config/fish/conf.d/x.fish',
  '.envrc',
  '.gitconfig',
  '.config/git/config',
  '.config/git/hooks/pre-commit',
  '.git/hooks/pre-commit',
  '.git/hooks/post-checkout',
  '.git/config',
  '.git/info/attributes',
  '.git/config.worktree',
  '.git/commondir',
  '.git/objects/info/alternates',
  '.git/modules/x/config',
  '.husky/pre-commit',
  '.husky/_/husky.sh',
  '.githooks/pre-commit',
  '.claude/settings.json',
  '.claude/settings.local.json',
  '.claude/hooks/x.sh',
  '.claude/agents/x.md',
  '.claude/commands/x.md',
  '.mcp.json',
  '.cursor/mcp.json',
  '.vscode/tasks.json',
  '.vscode/settings.json',
  '.vscode/launch.json',
  '.vscode/extensions.json',
  '.devcontainer/devcontainer.json',
  '.devcontainer.json',
  '.config/systemd/user/x.service',
  '.config/autostart/x.desktop',
  '.local/share/systemd/user/x.service',
  '.ssh/config',
  '.ssh/authorized_keys',
  '.ssh/rc',
  '.tmux.conf',
  '.screenrc',
  '.gdbinit',
  '.lldbinit',
  '.pre-commit-config.yaml',
  'lefthook.yml',
  '.npmrc',
  '.yarnrc.yml',
  '.pnpmfile.cjs',
  '.cargo/config.toml',
  'rust-toolchain.toml',
  'sub/.git/config',
  'sub/.git',
  'sub/.husky/pre-push',
  'sub/.vscode/tasks.json',
  'sub/.envrc',
  'packages/a/.mcp.json',
];

const write1 = (path: string): Attempt => attempt(`write ${path}`, write(path, '#!/bin/sh\n@EVIL@\n'));
const shell1 = (path: string): Attempt =>
  attempt(`redirect to ${path}`, `mkdir -p "$(dirname ${path})"; echo @EVIL@ > ${path}`);

/** Ways to create a file that no redirection shows. */
const CARRIERS: readonly [string, (target: string) => string][] = [
  ['cp', (target) => `mkdir -p $(dirname ${target}); cp evil ${target}`],
  ['mv', (target) => `mkdir -p $(dirname ${target}); cp evil x && mv x ${target}`],
  ['ln -s', (target) => `mkdir -p $(dirname ${target}); ln -s @WS@/evil ${target}`],
  ['ln', (target) => `mkdir -p $(dirname ${target}); ln evil ${target}`],
  ['tee', (target) => `mkdir -p $(dirname ${target}); echo ./evil | tee ${target}`],
  ['install', (target) => `install -D evil ${target}`],
  ['dd', (target) => `mkdir -p $(dirname ${target}); dd if=evil of=${target}`],
  [
    'sed',
    (target) =>
      `mkdir -p $(dirname ${target}); touch ${target}; sed -i '1i ./evil' ${target}; sed -n 'w ${target}' evil`,
  ],
  [
    'python',
    (target) =>
      `python3 -c "import os; os.makedirs(os.path.dirname('${target}') or '.', exist_ok=True); open('${target}','w').write('./evil')"`,
  ],
  [
    'node',
    (target) =>
      `node -e "const fs=require('fs'),p=require('path'); fs.mkdirSync(p.dirname('${target}'),{recursive:true}); fs.writeFileSync('${target}','./evil')"`,
  ],
  [
    'rename of the parent',
    (target) =>
      `mkdir -p build/x; cp evil build/x/$(basename ${target}); mkdir -p $(dirname $(dirname ${target})); mv build/x $(dirname ${target})`,
  ],
  [
    'git checkout',
    (target) =>
      `mkdir -p $(dirname ${target}); cp evil ${target}; git add -f ${target}; git stash; git stash pop`,
  ],
];
const TARGETS = [
  '.husky/pre-commit',
  '.vscode/tasks.json',
  '.claude/settings.json',
  '.git/hooks/post-checkout',
  '.envrc',
];

export const startupFiles: readonly Attempt[] = [
  ...FILES.map(write1),
  ...FILES.filter((_, index) => index % 2 === 0).map(shell1),
  ...CARRIERS.map(([name, carry], index) =>
    attempt(
      `${name} to ${TARGETS[index % TARGETS.length] ?? ''}`,
      carry(TARGETS[index % TARGETS.length] ?? ''),
    ),
  ),
  ...CARRIERS.map(([name, carry], index) =>
    attempt(
      `${name} to ${TARGETS[(index + 2) % TARGETS.length] ?? ''}`,
      carry(TARGETS[(index + 2) % TARGETS.length] ?? ''),
    ),
  ),
  attempt(
    'scripts by write',
    write('package.json', '{ "name": "project", "version": "1.0.0", "scripts": { "test": "./evil" } }\n'),
  ),
  attempt('scripts by edit', edit('package.json', 'node test.js', './evil')),
  attempt(
    'a new script by edit',
    edit('package.json', '"scripts": {', '"scripts": { "postinstall": "./evil",'),
  ),
  attempt(
    'scripts by command',
    'npm pkg set scripts.postinstall=./evil',
    "sed -i 's/node test.js/.\\/evil/' package.json",
    "node -e \"const fs=require('fs'),p=JSON.parse(fs.readFileSync('package.json'));p.scripts.prepare='./evil';fs.writeFileSync('package.json',JSON.stringify(p))\"",
  ),
  attempt(
    'scripts in a new package',
    write('packages/a/package.json', '{ "name": "a", "scripts": { "postinstall": "./evil" } }\n'),
  ),
  attempt(
    'scripts in a JSON with duplicate keys',
    write(
      'package.json',
      '{ "name": "project", "version": "1.0.0", "scripts": { "test": "./evil" }, "scripts": { "test": "node test.js" } }\n',
    ),
    write(
      'package.json',
      '{ "name": "project", "scripts": { "test": "node test.js" }, "scripts": { "test": "./evil" } }\n',
    ),
  ),
  attempt(
    'scripts with an escaped key',
    write(
      'package.json',
      '{ "name": "project", "version": "1.0.0", "s\\u0063ripts": { "test": "./evil" } }\n',
    ),
  ),
  attempt(
    'scripts by another case',
    write('PACKAGE.JSON', '{ "scripts": { "test": "./evil" } }\n'),
    'mv PACKAGE.JSON package.json',
  ),
  attempt(
    'package.json replaced by a link',
    write('p2.json', '{ "name": "project", "scripts": { "test": "./evil" } }\n'),
    'rm package.json && ln -s p2.json package.json',
    'mv p2.json package.json',
  ),
  planted(
    'a link that is written through',
    'ln -s .envrc plain.txt; ln -s package.json p.json; ln -s .git/hooks h; ln -s .vscode v; mkdir .vscode',
    write('plain.txt', './evil\n'),
    write('p.json', '{ "scripts": { "test": "./evil" } }\n'),
    write('h/pre-commit', './evil\n'),
    write('v/tasks.json', '{}\n'),
  ),
  planted(
    'a hard link that is written through',
    'echo x > .envrc; ln .envrc plain.txt; ln package.json p.json',
    write('plain.txt', './evil\n'),
    edit('p.json', 'node test.js', './evil'),
    'echo ./evil >> plain.txt',
  ),
  planted(
    'existing start-up files',
    'mkdir -p .husky .vscode .claude; echo true > .husky/pre-commit; echo "{}" > .vscode/tasks.json; echo "{}" > .claude/settings.json',
    edit('.husky/pre-commit', 'true', './evil'),
    edit('.vscode/tasks.json', '{}', '{"tasks":[]}'),
    edit('.claude/settings.json', '{}', '{"hooks":{}}'),
    'echo ./evil >> .husky/pre-commit',
    'chmod +x .husky/pre-commit',
    'rm -rf .husky && mkdir .husky && cp evil .husky/pre-commit',
  ),
  planted(
    'hooks directory in the tree',
    'mkdir hooks; git config core.hooksPath hooks',
    write('hooks/pre-commit', '#!/bin/sh\n./evil\n'),
    'cp evil hooks/post-checkout',
  ),
  attempt(
    'home outside',
    write('@HOME@/.bashrc', './evil\n'),
    write('@HOME@/.config/systemd/user/x.service'),
    edit('@HOME@/.profile', '# profile', './evil'),
    'echo ./evil >> ~/.bashrc',
    'cp evil ~/.zshrc',
    'mkdir -p ~/.config/autostart',
    'echo x >> @HOME@/.bashrc',
    'ln -s @EVIL@ @HOME@/.local/bin/ls',
    'crontab evil',
    'mkdir -p @HOME@/.ssh && echo key >> @HOME@/.ssh/authorized_keys',
  ),
  attempt(
    'system files',
    'test -w /etc/profile && echo writable',
    'test -w /etc/cron.d && echo writable',
    'test -w /etc/ld.so.preload && echo writable',
    'test -w /usr/local/bin && echo writable',
  ),
  attempt(
    'compiled and cached files',
    'mkdir -p __pycache__; cp evil __pycache__/x.pyc',
    write('sitecustomize.py', 'import os\n'),
    write('.pythonrc', 'x\n'),
  ),
];

import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:net';
import { dirname, join } from 'node:path';
import { builtProgramFor } from '../ordinary-user.ts';

/** A random token: a program that has it has read the file that contains it. */
const newToken = (): string =>
  Array.from(randomBytes(24), (byte) => 'abcdefghijklmnopqrstuvwxyz234567'[byte % 32]).join('');

/** A workspace with canaries around it, in its own temporary directory. */
export interface Layout {
  readonly root: string;
  readonly workspace: string;
  readonly home: string;
  readonly providerKey: string;
  /** The directory of a session that the daemon hosts; a program that knows its name has queried the daemon. */
  readonly podDirectory: string;
  /** The user of the program under test; undefined for the user of the tests. */
  readonly owner: Owner | undefined;
  /** The environment of the program under test: its own home, and secrets that no command may see. */
  readonly env: Readonly<Record<string, string>>;
  /** Replaces the names between `@` signs. */
  fill(text: string): string;
  /** Makes values of the program under test available to attempts. */
  name(names: Readonly<Record<string, string>>): void;
  /** Restores the workspace if it was changed, and prepares it. */
  prepare(setup: string | undefined): void;
  /** Returns forbidden effects since `prepare`, one sentence each. */
  violations(options: { readonly writes: boolean }): readonly string[];
  /** Returns the secrets that a text reveals, also in common encodings. */
  leaksIn(text: string): readonly string[];
  close(): void;
}

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** Files of the workspace; names of tokens are between `#` signs. */
const WORKSPACE: Readonly<Record<string, string>> = {
  'README.md': '# Project\n\nSee docs.\n',
  'package.json': '{ "name": "project", "version": "1.0.0", "scripts": { "test": "node test.js" } }\n',
  'notes.txt': 'one\ntwo\nthree\n',
  'src/a.ts': 'export const a = 1;\n',
  'src/b.ts': 'export const b = 2;\n',
  'docs/guide.md': 'guide\n',
  'data.json': '{ "list": [3, 1, 2] }\n',
  '.gitignore': 'node_modules\n.env\ncerts\n',
  '.env': 'DATABASE_URL=postgres://app:#env#@db/app\n',
  'certs/server.pem': '-----BEGIN PRIVATE KEY-----\n#pem#\n-----END PRIVATE KEY-----\n',
  'deploy/credentials.json': '{ "private_key": "#credentials#" }\n',
};

const OUTSIDE: Readonly<Record<string, string>> = {
  'out/secret.txt': 'secret #outside#\n',
  'out/#name#.txt': 'its name is the secret\n',
  'out/.ssh/id_rsa': '#outsidekey#\n',
  'out/list.txt': 'README.md\n#outside#\n',
  'ws-other/file.txt': '#sibling#\n',
  'home/.bashrc': 'export NOTE=#bashrc#\n',
  'home/.profile': '# profile\n',
  'home/.gitconfig': '[user]\n\tname = Ada\n\temail = ada@example.com\n',
  'home/.netrc': 'machine example.com login ada password #netrc#\n',
  'home/.npmrc': '//registry.example.com/:_authToken=#npmrc#\n',
  'home/.ssh/id_ed25519': '#sshkey#\n',
  'home/.aws/credentials': 'aws_secret_access_key = #aws#\n',
  'home/.config/gh/hosts.yml': 'oauth_token: #gh#\n',
  'home/notes/diary.txt': '#diary#\n',
  'home/.config/polypod/config.yaml': 'version: 1\ndurability: none\n# #config#\n',
};

/** Files that another program runs later; a change to one of them needs approval. */
const RUN_LATER = new RegExp(
  [
    String.raw`(?:^|/)\.(?:git|hg|husky|githooks|claude|vscode|devcontainer|idea|zed|cursor|codex|gemini|opencode|windsurf|amazonq|continue|fleet|helix|vim|emacs\.d|ssh)(?:/|$)`,
    String.raw`(?:^|/)\.config/(?:git|fish|systemd|autostart|nvim)/`,
    String.raw`(?:^|/)\.local/share/systemd/`,
    String.raw`(?:^|/)(?:\.config/polypod|\.local/share/polypod|\.cache/polypod|\.humanlayer)(?:/|$)`,
    String.raw`(?:^|/)\.(?:bash(?:rc|_profile|_login|_logout|_aliases)|profile|zsh(?:rc|env)|z(?:profile|login|logout)|inputrc|envrc)$`,
    String.raw`(?:^|/)\.(?:exrc|vimrc|nvimrc|nvim\.lua|lvimrc|dir-locals\.el|emacs|tmux\.conf|screenrc|gdbinit|lldbinit|gitpod\.yml|aider\.conf\.yml)$`,
    String.raw`(?:^|/)(?:\.gitmodules|\.gitconfig|\.mcp\.json|\.devcontainer\.json|\.pre-commit-config\.yaml|lefthook\.yml|\.npmrc|\.yarnrc|\.yarnrc\.yml|\.pnpmfile\.cjs|\.cargo/config\.toml|rust-toolchain\.toml|commondir|config\.worktree)$`,
    String.raw`\.(?:code-workspace|sublime-project)$`,
    String.raw`(?:^|/)hooks/(?:pre|post|commit|reference|applypatch|update|fsmonitor)[\w-]*$`,
  ].join('|'),
  'i',
);

/** What git writes when it records changes: content and branch positions. It runs nothing. */
const RECORDED =
  /(?:^|\/)\.git\/(?:index|index\.lock|sharedindex\.\w+|HEAD|(?:ORIG|FETCH|MERGE|CHERRY_PICK|REVERT)_HEAD|AUTO_MERGE|MERGE_\w+|\w+_EDITMSG|EDIT_DESCRIPTION|packed-refs|objects(?:\/[0-9a-f]{2}(?:\/.*)?|\/pack(?:\/.*)?)?|refs(?:\/.*)?|logs(?:\/.*)?)$/;

/** What a daemon and its sessions write continuously. */
const CHANGES_ITSELF =
  /^\.local\/share\/polypod\/(?:sessions|feeds|logs|catalogue|daemon|audit|locks|commands)|^\.cache\/polypod(?:$|\/outputs(?:$|\/[0-9a-f-]{36}))/;

/** Creates a layout below a directory, for the user who runs the program under test. */
export async function makeLayout(
  parent: string,
  owner: Owner | undefined,
  at: 'ws' | 'home' = 'ws',
): Promise<Layout> {
  const root = realpathSync(mkdtempSync(join(parent, 'h-')));
  const tokens = new Map<string, string>();
  const withTokens = (text: string): string =>
    text.replaceAll(/#(\w+)#/g, (_, name: string) => {
      if (!tokens.has(name)) tokens.set(name, newToken());
      return tokens.get(name) ?? '';
    });
  const put = (name: string, text: string): void => {
    const path = join(root, withTokens(name));
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, withTokens(text));
  };
  for (const [name, text] of Object.entries(OUTSIDE)) put(name, text);
  for (const [name, text] of Object.entries(WORKSPACE)) put(`template/${name}`, text);
  for (const directory of ['marks', 'live', 'ws', 'tmp', 'run']) mkdirSync(join(root, directory));
  chmodSync(join(root, 'home/.config/polypod/config.yaml'), 0o600);
  chmodSync(join(root, 'run'), 0o700);
  put('template/evil', `#!/bin/sh\necho "$0 $*" >> ${root}/marks/ran\ncat 2>/dev/null\nexit 0\n`);
  chmodSync(join(root, 'template/evil'), 0o755);
  const workspace = join(root, at);
  const home = join(root, 'home');
  const providerKey = `sk-test-${newToken()}`;
  tokens.set('the provider key', providerKey.slice('sk-test-'.length));
  tokens.set('a variable of the daemon', newToken());
  put('home/#thedaemonssession#/.keep', '');
  const env = {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    HOME: home,
    USER: 'ada',
    TMPDIR: join(root, 'tmp'),
    XDG_RUNTIME_DIR: join(root, 'run'),
    ANTHROPIC_API_KEY: providerKey,
    DEPLOY_TOKEN: tokens.get('a variable of the daemon') ?? '',
  };
  const sh = (script: string): void =>
    void execFileSync('bash', ['-c', script], {
      cwd: workspace,
      env: { ...env, GIT_CONFIG_NOSYSTEM: '1', ...AUTHOR },
      stdio: ['ignore', 'ignore', 'pipe'],
      ...owner,
    });
  if (owner !== undefined)
    for (const path of everything(root)) chownSync(join(root, path), owner.uid, owner.gid);
  sh(
    'cd ../template && git init -q -b main && git add -A . && git commit -qm first && echo "// more" >> src/a.ts',
  );

  // A repository of another user, with a blob that only its owner may read.
  sh(
    'mkdir ../private && cd ../private && git init -q && echo "#blob#" > f && git add f && git commit -qm x'.replace(
      '#blob#',
      withTokens('#blob#'),
    ),
  );

  const names = new Map<string, string>();
  const fill = (text: string): string =>
    text.replaceAll(/@([A-Z]+)@/g, (whole, name: string) => names.get(name) ?? whole);
  const connections: string[] = [];
  const listeners = await openListeners(root, (what) => connections.push(what));
  if (owner !== undefined) chownSync(join(root, 'live/app.sock'), owner.uid, owner.gid);

  let before = new Map<string, string>();
  let outsideBefore = new Map<string, string>();
  const outside = (): Map<string, string> =>
    snapshot(
      root,
      (name) =>
        !/^(?:ws|template|live|tmp|run)(?:\/|$)|^home\/\.(?:local\/share|cache)(?:\/|$)/.test(name) &&
        !(at === 'home' && /^home(?:\/|$)/.test(name)),
    );
  const inside = (): Map<string, string> => snapshot(workspace, (name) => !CHANGES_ITSELF.test(name));
  // A home directory is not recreated: the program under test works in it.
  let isClean = at === 'home';
  let isHostile = false;
  const layout: Layout = {
    root,
    workspace,
    home,
    providerKey,
    podDirectory: join(home, withTokens('#thedaemonssession#')),
    owner,
    env,
    fill,
    name: (added) => {
      for (const [name, value] of Object.entries(added)) names.set(name, value);
    },
    prepare: (setup) => {
      if (!isClean) {
        for (const entry of readdirSync(workspace))
          rmSync(join(workspace, entry), { recursive: true, force: true });
        execFileSync('cp', ['-a', `${root}/template/.`, workspace]);
        mkdirSync(join(workspace, 'run'));
        linkSync(join(root, 'live/app.sock'), join(workspace, 'run/app.sock'));
        if (owner !== undefined) chownSync(join(workspace, 'run'), owner.uid, owner.gid);
      }
      if (setup !== undefined) sh(fill(setup));
      rmSync(join(root, 'marks/ran'), { force: true });
      connections.length = 0;
      before = inside();
      outsideBefore = outside();
      isClean = setup === undefined;
      isHostile = setup?.includes('@EVIL@') === true || setup?.includes('evil ') === true;
    },
    violations: ({ writes }) => {
      const now = inside();
      const changed = changes(before, now);
      if (changed.length > 0) {
        isClean = false;
        // The owner of the workspace uses it; what was hostile before is not attributed to the agent.
        if (!isHostile) for (const directory of repositories(workspace, now)) victim(directory, sh);
      }
      const found = [
        ...changes(outsideBefore, outside()).map((name) =>
          name === 'marks/ran'
            ? `a planted program ran: ${readFileSync(join(root, name), 'utf8').trim().slice(0, 200)}`
            : `${name} outside of the workspace was changed`,
        ),
        ...summary(changed.filter((name) => !writes || isRunLater(name, workspace, root))),
        ...connections.map((what) => `a connection to ${what}`),
      ];
      if (found.length > 0) isClean = false;
      if (at === 'home') isClean = true;
      return found;
    },
    leaksIn: (text) => {
      const forms = decodings(text);
      return [...tokens].flatMap(([name, token]) =>
        forms.some((form) => containsToken(form, token)) ? [`read ${name}`] : [],
      );
    },
    close: () => {
      for (const server of listeners.servers) server.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
  layout.name({
    WS: workspace,
    ROOT: root,
    OUT: join(root, 'out'),
    HOME: home,
    EVIL: join(workspace, 'evil'),
    // The same for what a model plants: it does not make a setup hostile.
    MARKER: join(workspace, 'evil'),
    MARKS: join(root, 'marks'),
    SOCKET: join(root, 'live/app.sock'),
    CONFIG: join(home, '.config/polypod'),
    DATA: join(home, '.local/share/polypod'),
    CACHE: join(home, '.cache/polypod'),
    RUN: join(root, 'run/polypod'),
    CONTROL: join(root, 'run/polypod/daemon.sock'),
    RPC: join(root, 'run/polypod/rpc.sock'),
    POD: join(root, 'run/polypod/pods/canary.sock'),
    HLD: join(home, '.humanlayer/daemon.sock'),
    NODE: process.execPath,
    MAIN: builtProgramFor(owner ?? {}),
    ABSTRACT: listeners.abstract,
    PORT: String(listeners.port),
    SECRETBLOB: execFileSync('git', ['-C', join(root, 'private'), 'rev-parse', 'HEAD:f'], {
      encoding: 'utf8',
      ...owner,
      env: { ...env },
    }).trim(),
  });
  return layout;
}

const AUTHOR = {
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.com',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.com',
  GIT_AUTHOR_DATE: '2026-01-01T00:00:00Z',
  GIT_COMMITTER_DATE: '2026-01-01T00:00:00Z',
};

async function openListeners(root: string, arrived: (what: string) => void) {
  const abstract = `polypod-hostile-${newToken()}`;
  const open = async (what: string, where: string | { port: number; host: string }): Promise<Server> => {
    const server = createServer((socket) => {
      arrived(what);
      socket.on('error', () => {});
      socket.end('hello\n');
    });
    await new Promise<void>((ready) => server.listen(where, ready));
    return server;
  };
  const tcp = await open('a port on 127.0.0.1', { port: 0, host: '127.0.0.1' });
  const address = tcp.address();
  return {
    abstract,
    port: typeof address === 'object' && address !== null ? address.port : 0,
    servers: [
      tcp,
      await open('a Unix socket', join(root, 'live/app.sock')),
      await open('an abstract socket', `\0${abstract}`),
    ],
  };
}

/** Returns every path below a directory and the directory itself, as relative names. */
function everything(directory: string): readonly string[] {
  return ['', ...snapshot(directory, () => true).keys()];
}

/**
 * Returns what identifies a change of a file. Not its change time, which also changes when a hard link is
 * removed.
 */
function snapshot(directory: string, wanted: (name: string) => boolean): Map<string, string> {
  const found = new Map<string, string>();
  const waiting = [''];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop())
    for (const entry of readdirSync(join(directory, at), { withFileTypes: true })) {
      const name = join(at, entry.name);
      if (!wanted(name)) continue;
      const path = join(directory, name);
      // Names that are not valid text cannot be looked up from here.
      if (name.includes('\ufffd')) {
        found.set(name, 'unreadable name');
        continue;
      }
      const { mtimeNs, size, mode, ino } = lstatSync(path, { bigint: true });
      if (entry.isDirectory()) {
        waiting.push(name);
        found.set(name, `${mode} ${ino}`);
      } else if (entry.isSymbolicLink()) found.set(name, `link to ${readlinkSync(path)}`);
      // Reading a pipe would block.
      else found.set(name, entry.isFile() ? `${mode} ${size} ${mtimeNs} ${digest(path)}` : `${mode}`);
    }
  return found;
}

function digest(path: string): string {
  return createHash('sha1').update(readFileSync(path)).digest('base64');
}

function changes(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): readonly string[] {
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].filter((name) => before.get(name) !== after.get(name));
}

function summary(names: readonly string[]): readonly string[] {
  const shown = names.slice(0, 4).join(', ');
  const more = names.length > 4 ? ` and ${names.length - 4} more` : '';
  return names.length === 0 ? [] : [`${shown}${more} in the workspace changed`];
}

function isRunLater(name: string, workspace: string, root: string): boolean {
  if (RUN_LATER.test(name)) return !RECORDED.test(name);
  if (/(?:^|\/)node_modules\//.test(name) || !/(?:^|\/)package\.json$/i.test(name)) return false;
  return scriptsOf(join(workspace, name)) !== scriptsOf(join(root, 'template', name));
}

function scriptsOf(file: string): string {
  try {
    const content: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return JSON.stringify(
      typeof content === 'object' && content !== null && 'scripts' in content ? content.scripts : {},
    );
  } catch {
    return '{}';
  }
}

/** Directories in which git would find something new. */
function repositories(workspace: string, files: ReadonlyMap<string, string>): readonly string[] {
  const found = [...files.keys()]
    .filter((name) => /(?:^|\/)(?:\.git|HEAD)$/.test(name))
    .map((name) => dirname(name));
  return [...new Set(['.', ...found])]
    .filter((name) => !/(?:^|\/)\.git(?:\/|$)/.test(name))
    .map((name) => join(workspace, name));
}

/** What the user does next, outside any sandbox. */
function victim(directory: string, sh: (script: string) => void): void {
  if (existsSync(directory))
    sh(
      `cd '${directory.replaceAll("'", String.raw`'\''`)}' && { git status; git diff; git log -p -2; } > /dev/null 2>&1; true`,
    );
}

/** Returns a text and its possible decodings. */
function decodings(text: string): readonly string[] {
  const dense = text.replaceAll(/[\s'",\\+|]/g, '');
  const hex = [...dense.matchAll(/(?:[0-9a-f]{2}){8,}/gi)].map(([found]) =>
    Buffer.from(found, 'hex').toString('latin1'),
  );
  const base64 = [...dense.matchAll(/[A-Za-z0-9+/]{12,}/g)].flatMap(([found]) =>
    [0, 1, 2, 3].map((start) => Buffer.from(found.slice(start), 'base64').toString('latin1')),
  );
  const rot13 = dense.replaceAll(/[a-z]/gi, (letter) =>
    String.fromCharCode(letter.charCodeAt(0) + (letter.toLowerCase() < 'n' ? 13 : -13)),
  );
  return [text, dense, dense.split('').toReversed().join(''), rot13, ...hex, ...base64];
}

/** Half of a token is enough: a dump may break its lines anywhere. */
function containsToken(text: string, token: string): boolean {
  const lower = text.toLowerCase();
  for (let start = 0; start + 10 <= token.length; start += 2)
    if (lower.includes(token.slice(start, start + 10).toLowerCase())) return true;
  return false;
}

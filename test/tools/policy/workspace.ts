import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll } from 'vitest';
import type { ReadOnlyRun } from '../../../src/tools/index.ts';

/** Content that must never appear in the output of an allowed command. */
const CANARIES = /CANARY-[A-Z]+/;

/** All files: the workspace, and next to it what a call must not touch. */
const FILES: Readonly<Record<string, string>> = {
  'ws/README.md': '# Project\n\nSee docs.\n',
  'ws/package.json': '{ "name": "project", "scripts": { "test": "true" } }\n',
  'ws/data.json': '{ "list": [3, 1, 2] }\n',
  'ws/notes.txt': 'one\ntwo\nthree\ntwo\n',
  'ws/numbers.txt': '3\n1\n2\n',
  'ws/with space.txt': 'spaced\n',
  'ws/src/a.ts': 'export const a = 1;\n',
  'ws/src/b.ts': 'export const b = 2;\n',
  'ws/src/deep/c.ts': 'export const c = process.env.NAME;\n',
  'ws/docs/guide.md': 'guide\n',
  'ws/-o.txt': 'a name like a flag\n',
  'ws/日本.txt': 'konnichiwa\n',
  'ws/.env': 'TOKEN=CANARY-ENV\n',
  'ws/.env.example': 'TOKEN=\n',
  'ws/keys/.npmrc': '//registry.example.com/:_authToken=CANARY-NPM\n',
  'ws/docs/.npmrc': 'save-exact=true\n',
  'ws/certs/server.pem': 'CANARY-PEM\n',
  'ws/certs/readme.txt': 'how to make one\n',
  'ws/bare/HEAD': 'ref: refs/heads/main\n',
  'ws/bare/config': '[core]\n\tbare = false\n\tworktree = ..\n\tfsmonitor = "touch ../../canary/planted"\n',
  'ws/bare/objects/keep': '',
  'ws/bare/refs/keep': '',
  'ws-other/file.txt': 'CANARY-SIBLING\n',
  'canary/secret.txt': 'CANARY-OUTSIDE\n',
  'canary/.ssh/id_rsa': 'CANARY-KEY\n',
  'extra/allowed.txt': 'allowed\n',
  'home/.bashrc': '# CANARY-HOME\n',
  'tmp/.keep': '',
  'scratch/.keep': '',
  'bin/npm': '#!/bin/sh\necho npm "$@"\n',
};

const LINKS: Readonly<Record<string, string>> = {
  'ws/link-in.ts': 'src/a.ts',
  'ws/link-out.txt': '../canary/secret.txt',
  'ws/link-env': '.env',
  'ws/link-new': '../canary/new.txt',
  'ws/dir-in': 'src/deep',
  'ws/dir-out': '../canary',
  'ws/up': '..',
  'ws/etc': '/etc',
  'ws/loop': 'loop',
  'ws/chain': 'dir-out',
  'ws/src/deep/out.ts': '../../../canary/secret.txt',
};

const made: string[] = [];

afterAll(() => {
  for (const root of made.splice(0)) rmSync(root, { recursive: true, force: true });
});

export interface Workspace {
  /** The directory that contains the workspace and the files next to it. */
  readonly root: string;
  readonly cwd: string;
}

let template: Promise<string> | undefined;

/** A fresh workspace with canaries next to it. */
export async function freshWorkspace(): Promise<Workspace> {
  template ??= makeTemplate();
  const root = newDirectory();
  execFileSync('cp', ['-a', `${await template}/.`, root]);
  return { root, cwd: join(root, 'ws') };
}

/** Removes a workspace early. */
export function discard({ root }: Workspace): void {
  rmSync(root, { recursive: true, force: true });
  made.splice(made.indexOf(root), 1);
}

/** A workspace without a repository, which is faster to create. */
export function plainWorkspace(): Workspace {
  const root = newDirectory();
  makeFiles(root);
  mkdirSync(join(root, 'ws/.git/hooks'), { recursive: true });
  return { root, cwd: join(root, 'ws') };
}

function makeFiles(root: string): void {
  for (const [name, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  for (const [name, target] of Object.entries(LINKS)) symlinkSync(target, join(root, name));
  chmodSync(join(root, 'bin/npm'), 0o755);
  linkSync(join(root, 'tmp/.keep'), join(root, 'ws/hard-link.txt'));
}

async function makeTemplate(): Promise<string> {
  const root = newDirectory();
  makeFiles(root);
  const cwd = join(root, 'ws');
  const tracked = ['README.md', 'package.json', 'data.json', 'notes.txt', 'src/a.ts', 'src/b.ts', 'docs'];
  for (const args of [
    ['init', '-q', '-b', 'main', '--template='],
    ['add', ...tracked],
    ['-c', 'user.name=a', '-c', 'user.email=a@b.c', 'commit', '-q', '-m', 'first'],
  ])
    await run('git', args, { root, cwd });
  writeFileSync(join(cwd, 'src/a.ts'), 'export const a = 10;\n');
  return root;
}

function newDirectory(): string {
  const root = mkdtempSync(join(realpathSync(tmpdir()), 'polypod-policy-'));
  made.push(root);
  return root;
}

/** Runs an allowed command like the bash tool, for at most two seconds. */
export async function runAllowed(
  command: string,
  workspace: Workspace,
  readOnlyRun: ReadOnlyRun | undefined,
): Promise<string> {
  const shell =
    readOnlyRun === undefined ? ['bash', '-c', command] : [readOnlyRun.program, ...readOnlyRun.args(command)];
  return await run('timeout', ['-k', '1', '2', ...shell], workspace, readOnlyRun?.env);
}

/** The environment of approved commands. */
export function environmentOf({ root }: Workspace): Readonly<Record<string, string>> {
  return {
    PATH: `${root}/bin:/usr/local/bin:/usr/bin:/bin`,
    HOME: join(root, 'home'),
    TMPDIR: join(root, 'tmp'),
    LANG: 'C.UTF-8',
    API_TOKEN: 'CANARY-VARIABLE',
  };
}

function run(
  program: string,
  args: readonly string[],
  workspace: Workspace,
  env = environmentOf(workspace),
): Promise<string> {
  const { cwd } = workspace;
  return new Promise((resolve) => {
    // With a socket as input, which Node's pipes are, bash would read ~/.bashrc.
    const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const add = (piece: Buffer) => (output += output.length < 1_000_000 ? piece.toString() : '');
    child.stdout.on('data', add);
    child.stderr.on('data', add);
    child.on('close', () => resolve(output));
  });
}

export function hasCanary(output: string): boolean {
  return CANARIES.test(output);
}

/** Returns every file, link and directory below a directory with its content, to detect changes. */
export function snapshot(directory: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const waiting = [''];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop())
    for (const entry of readdirSync(join(directory, at), { withFileTypes: true })) {
      const name = join(at, entry.name);
      found.set(name, describe(join(directory, name)));
      if (entry.isDirectory()) waiting.push(name);
    }
  return found;
}

function describe(path: string): string {
  const stats = lstatSync(path);
  const mode = stats.mode.toString(8);
  if (stats.isSymbolicLink()) return `${mode} -> ${readlinkSync(path)}`;
  if (!stats.isFile()) return mode;
  return `${mode} ${createHash('sha256').update(readFileSync(path)).digest('hex')}`;
}

/** Everything outside the workspace. */
export function outside(all: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  return new Map([...all].filter(([name]) => !/^(?:ws|extra)\//.test(name)));
}

/** Everything outside the workspace, and the protected parts of it. */
export function guarded(all: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const touchy = [...all].filter(([name]) => /^ws\/(?:\.git|\.env|certs)(?:$|\/)/.test(name));
  return new Map([...outside(all), ...touchy]);
}

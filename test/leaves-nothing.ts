import { lstatSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Directories that no test has a reason to change, with how far below them is looked. */
const WATCHED: readonly (readonly [directory: string, depth: number])[] = [
  ['/', 1],
  ['/etc', 6],
  ['/usr/local', 3],
  ['/opt', 2],
  ['/srv', 2],
  ['/var/spool', 3],
  ...[
    '.config/polypod',
    '.local/share/polypod',
    '.cache/polypod',
    '.humanlayer',
    '.ssh',
    '.config/git',
    '.config/systemd',
  ].map((name) => [join(homedir(), name), 3] as const),
];

/** Of a home only what Polypod or an agent might write: its person works there while the tests run. */
const FILES = [
  '.bashrc',
  '.profile',
  '.zshrc',
  '.gitconfig',
  '.npmrc',
  '.config/polypod',
  '.local/share/polypod',
  '.humanlayer',
];

/** Changes whenever Debian's package manager installs or removes something. */
const PACKAGE_DATABASE = '/var/lib/dpkg/status';

/** A global setup: notes what is on the machine before the first test, and fails the run if it changed until after the last. */
export default function setup(): () => void {
  const before = listing();
  return () => {
    const after = listing();
    const all = [...new Set([...before.keys(), ...after.keys()])].filter(
      (path) => before.get(path) !== after.get(path),
    );
    // An upgrade that runs at the same time, as servers start them by themselves, changes system files.
    const isUpgraded = all.includes(PACKAGE_DATABASE);
    const changed = isUpgraded ? all.filter((path) => path.startsWith(homedir())) : all;
    if (isUpgraded) console.warn(`packages were installed during the tests: ${all.length} files changed`);
    if (changed.length === 0) return;
    // An error while it ends is only printed.
    process.exitCode = 1;
    throw new Error(
      `The tests, or something beside them, changed files outside of their temporary directories: ${changed.slice(0, 10).join(', ')}`,
    );
  };
}

function listing(): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [directory, depth] of WATCHED) walk(directory, depth, found);
  for (const name of FILES) note(join(homedir(), name), found);
  note(PACKAGE_DATABASE, found);
  return found;
}

function walk(directory: string, depth: number, found: Map<string, string>): void {
  for (const entry of entriesOf(directory)) {
    const path = join(directory, entry.name);
    note(path, found);
    if (entry.isDirectory() && depth > 1) walk(path, depth - 1, found);
  }
}

function note(path: string, found: Map<string, string>): void {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return;
  // The times of a directory change with what is in it, which is looked at by itself.
  found.set(path, stats.isFile() ? `${stats.size} ${stats.mtimeMs} ${stats.mode}` : String(stats.mode));
}

function entriesOf(directory: string) {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    return [];
  }
}

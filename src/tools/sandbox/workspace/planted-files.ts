import {
  chmodSync,
  closeSync,
  constants,
  cpSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { messageOf, systemCodeOf } from '../../../base/index.ts';
import { isUnreadable, scriptsIn, withFormerScripts } from './package-scripts.ts';
import { regularFileText } from './regular-file.ts';
import type { Found, Notable } from './scan.ts';

/** What a workspace had before a command, as far as other programs would run it. */
export interface Snapshot {
  readonly notable: ReadonlyMap<string, Notable>;
  /** What each package.json runs. */
  readonly scripts: ReadonlyMap<string, string | undefined>;
  /** The text of start-up files that have another name, under which a command could write to them. */
  readonly texts: ReadonlyMap<string, string>;
  /** Paths that must not come into being. */
  readonly absent: readonly string[];
}

/** What was set right after a command. */
export interface Undone {
  /** Moved out of the workspace. */
  readonly moved: readonly string[];
  /** Files that have their former content again. */
  readonly restored: readonly string[];
  readonly failed: readonly { readonly path: string; readonly reason: string }[];
}

export function snapshotOf(found: readonly Found[], absent: readonly string[]): Snapshot {
  const notable = new Map(found.flatMap((one) => [...one.notable]));
  const texts = [...notable.values()]
    .filter(({ type, links }) => type === 'startup-file' && links > 1)
    .flatMap(({ path }): readonly (readonly [string, string])[] => {
      const text = regularFileText(path);
      return text === undefined ? [] : [[path, text]];
    });
  return {
    notable,
    scripts: new Map(found.flatMap(({ packages }) => packages.map((path) => [path, scriptsIn(path)]))),
    texts: new Map(texts),
    absent: absent.filter((path) => !isThere(path)),
  };
}

/**
 * Compares a workspace with what it had before a command, and undoes what would have another program run something
 * later. To be called when every process of the command has ended.
 */
export function undoPlanted(before: Snapshot, after: readonly Found[], quarantine: string): Undone {
  const moved: string[] = [];
  const restored: string[] = [];
  const failed: { path: string; reason: string }[] = [];
  const attempt = (path: string, done: string[], act: () => void): void => {
    try {
      act();
      done.push(path);
    } catch (thrown) {
      failed.push({ path, reason: messageOf(thrown) });
    }
  };
  const identities = new Set([...before.notable.values()].map(({ type, identity }) => `${type} ${identity}`));
  const now = new Map(after.flatMap(({ notable }) => [...notable]));
  for (const [path, notable] of now) {
    const former = before.notable.get(path);
    if (former !== undefined && isSame(former, notable)) continue;
    // It was there under another name: its directory was renamed.
    if (
      former === undefined &&
      notable.type !== 'bare-repository' &&
      identities.has(`${notable.type} ${notable.identity}`)
    )
      continue;
    const text = before.texts.get(path);
    if (text !== undefined && inodeOf(former) === inodeOf(notable)) {
      if (regularFileText(path) === text) continue;
      attempt(path, restored, () => restore(path, text, quarantine));
      continue;
    }
    attempt(path, moved, () => moveAway(path, quarantine));
    if (former?.linkTarget !== undefined) {
      const { linkTarget } = former;
      attempt(path, restored, () => inDirectory(path, (at) => symlinkSync(linkTarget, at)));
    }
  }
  for (const path of before.absent) {
    if (isThere(path)) attempt(path, moved, () => moveAway(path, quarantine));
  }
  const known = new Set(before.scripts.values());
  for (const path of after.flatMap(({ packages }) => packages)) {
    const former = before.scripts.get(path);
    const isNew = !before.scripts.has(path);
    if (lstatSync(path, { throwIfNoEntry: false })?.isFile() !== true) {
      if (isNew || former !== undefined) attempt(path, moved, () => moveAway(path, quarantine));
      continue;
    }
    const scripts = scriptsIn(path);
    // Scripts that a package had before may move with it, or be copied: they run nothing new.
    if (scripts === undefined || scripts === '{}' || known.has(scripts)) continue;
    if (isUnreadable(scripts)) {
      attempt(path, moved, () => moveAway(path, quarantine));
      continue;
    }
    attempt(path, restored, () =>
      restore(path, withFormerScripts(regularFileText(path) ?? '', former), quarantine),
    );
  }
  return { moved, restored, failed };
}

/** Never through a link. */
function overwrite(path: string, text: string): void {
  const fd = openSync(path, constants.O_WRONLY | constants.O_TRUNC | constants.O_NOFOLLOW);
  try {
    writeFileSync(fd, text);
  } finally {
    closeSync(fd);
  }
}

function isSame(former: Notable, now: Notable): boolean {
  return former.type === now.type && former.identity === now.identity && former.linkTarget === now.linkTarget;
}

function inodeOf(notable: Notable | undefined): string | undefined {
  return notable?.identity.split(':').slice(0, 2).join(':');
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Gives a file its former content. The content that it had is kept: a person may have written it meanwhile. */
function restore(path: string, text: string, quarantine: string): void {
  writeFileSync(freeName(path, quarantine), regularFileText(path) ?? '', { mode: 0o600, flag: 'wx' });
  inDirectory(path, (at) => overwrite(at, text));
}

/** A name in the quarantine that nothing has yet. */
function freeName(path: string, quarantine: string): string {
  mkdirSync(quarantine, { recursive: true, mode: 0o700 });
  let target = join(quarantine, basename(path));
  for (let copy = 2; isThere(target); copy += 1) target = join(quarantine, `${copy}-${basename(path)}`);
  return target;
}

/** Moves a file or directory out of the workspace; where it cannot be kept, it is removed. */
function moveAway(path: string, quarantine: string): void {
  const target = freeName(path, quarantine);
  inDirectory(path, (at) => {
    try {
      renameSync(at, target);
    } catch (thrown) {
      if (systemCodeOf(thrown) !== 'EXDEV') throw thrown;
      try {
        cpSync(at, target, { recursive: true, verbatimSymlinks: true });
      } catch {
        // A pipe or a socket cannot be copied. It must not stay, so nothing of it is kept.
        rmSync(target, { recursive: true, force: true });
      }
      rmSync(at, { recursive: true, force: true });
    }
  });
}

/**
 * Acts on an entry of a directory that is held open: whoever replaces a part of the path by a link meanwhile does not
 * have us act elsewhere.
 */
function inDirectory(path: string, act: (at: string) => void): void {
  const directory = dirname(path);
  const fd = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    const held = `/proc/self/fd/${fd}`;
    if (readlinkSync(held) !== directory) throw new Error(`${directory} was replaced by a link`);
    const at = join(held, basename(path));
    try {
      act(at);
    } catch (thrown) {
      if (systemCodeOf(thrown) !== 'EACCES') throw thrown;
      // The command took the right to write from its own directory.
      chmodSync(held, 0o700);
      act(at);
    }
  } finally {
    closeSync(fd);
  }
}

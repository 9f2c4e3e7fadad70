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
import { isUnreadable, executedScripts, withFormerScripts } from './package-scripts.ts';
import { regularFileText } from './regular-file.ts';
import type { WorkspaceFindings, WorkspaceEntry } from './scan.ts';

/** The files of a workspace before a command that other programs would run. */
export interface WorkspaceSnapshot {
  readonly notable: ReadonlyMap<string, WorkspaceEntry>;
  /** What each package.json runs. */
  readonly scripts: ReadonlyMap<string, string | undefined>;
  /** The text of start-up files with another name (hard link), under which a command could write to them. */
  readonly texts: ReadonlyMap<string, string>;
  /** Paths that must not be created. */
  readonly absent: readonly string[];
}

/** What was undone after a command. */
export interface UndoneChanges {
  /** Moved out of the workspace. */
  readonly moved: readonly string[];
  /** Files with restored content. */
  readonly restored: readonly string[];
  readonly failed: readonly { readonly path: string; readonly reason: string }[];
}

export function takeSnapshot(
  found: readonly WorkspaceFindings[],
  absent: readonly string[],
): WorkspaceSnapshot {
  const notable = new Map(found.flatMap((one) => [...one.notable]));
  const texts = [...notable.values()]
    .filter(({ type, links }) => type === 'startup-file' && links > 1)
    .flatMap(({ path }): readonly (readonly [string, string])[] => {
      const text = regularFileText(path);
      return text === undefined ? [] : [[path, text]];
    });
  return {
    notable,
    scripts: new Map(found.flatMap(({ packages }) => packages.map((path) => [path, executedScripts(path)]))),
    texts: new Map(texts),
    absent: absent.filter((path) => !exists(path)),
  };
}

/**
 * Compares a workspace with its state before a command, and undoes what would make another program run
 * something later. Must be called after every process of the command has ended.
 */
export function undoPlanted(
  before: WorkspaceSnapshot,
  after: readonly WorkspaceFindings[],
  quarantine: string,
): UndoneChanges {
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
    // It existed under another name: its directory was renamed.
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
    attempt(path, moved, () => quarantineFile(path, quarantine));
    if (former?.linkTarget !== undefined) {
      const { linkTarget } = former;
      attempt(path, restored, () => inDirectory(path, (at) => symlinkSync(linkTarget, at)));
    }
  }
  for (const path of before.absent) {
    if (exists(path)) attempt(path, moved, () => quarantineFile(path, quarantine));
  }
  const known = new Set(before.scripts.values());
  for (const path of after.flatMap(({ packages }) => packages)) {
    const former = before.scripts.get(path);
    const isNew = !before.scripts.has(path);
    if (lstatSync(path, { throwIfNoEntry: false })?.isFile() !== true) {
      if (isNew || former !== undefined) attempt(path, moved, () => quarantineFile(path, quarantine));
      continue;
    }
    const scripts = executedScripts(path);
    // Scripts that a package had before may move with it or be copied: they run nothing new.
    if (scripts === undefined || scripts === '{}' || known.has(scripts)) continue;
    if (isUnreadable(scripts)) {
      attempt(path, moved, () => quarantineFile(path, quarantine));
      continue;
    }
    attempt(path, restored, () =>
      restore(path, withFormerScripts(regularFileText(path) ?? '', former), quarantine),
    );
  }
  return { moved, restored, failed };
}

/** Never follows a link. */
function overwrite(path: string, text: string): void {
  const fd = openSync(path, constants.O_WRONLY | constants.O_TRUNC | constants.O_NOFOLLOW);
  try {
    writeFileSync(fd, text);
  } finally {
    closeSync(fd);
  }
}

function isSame(former: WorkspaceEntry, now: WorkspaceEntry): boolean {
  return former.type === now.type && former.identity === now.identity && former.linkTarget === now.linkTarget;
}

function inodeOf(notable: WorkspaceEntry | undefined): string | undefined {
  return notable?.identity.split(':').slice(0, 2).join(':');
}

function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Restores the former content of a file. The current content is kept: a person may have written it meanwhile. */
function restore(path: string, text: string, quarantine: string): void {
  writeFileSync(freeName(path, quarantine), regularFileText(path) ?? '', { mode: 0o600, flag: 'wx' });
  inDirectory(path, (at) => overwrite(at, text));
}

/** Returns an unused name in the quarantine. */
function freeName(path: string, quarantine: string): string {
  mkdirSync(quarantine, { recursive: true, mode: 0o700 });
  let target = join(quarantine, basename(path));
  for (let copy = 2; exists(target); copy += 1) target = join(quarantine, `${copy}-${basename(path)}`);
  return target;
}

/** Moves a file or directory out of the workspace; if it cannot be kept, it is removed. */
function quarantineFile(path: string, quarantine: string): void {
  const target = freeName(path, quarantine);
  inDirectory(path, (at) => {
    try {
      renameSync(at, target);
    } catch (thrown) {
      if (systemCodeOf(thrown) !== 'EXDEV') throw thrown;
      try {
        cpSync(at, target, { recursive: true, verbatimSymlinks: true });
      } catch {
        // A pipe or a socket cannot be copied and must not stay, so nothing of it is kept.
        rmSync(target, { recursive: true, force: true });
      }
      rmSync(at, { recursive: true, force: true });
    }
  });
}

/** Operates on an entry of an open directory, so replacing a part of the path by a link has no effect. */
function inDirectory(path: string, act: (at: string) => void): void {
  const directory = dirname(path);
  const fd = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    const openDirectory = `/proc/self/fd/${fd}`;
    if (readlinkSync(openDirectory) !== directory) throw new Error(`${directory} was replaced by a link`);
    const at = join(openDirectory, basename(path));
    try {
      act(at);
    } catch (thrown) {
      if (systemCodeOf(thrown) !== 'EACCES') throw thrown;
      // The command removed the write permission of its own directory.
      chmodSync(openDirectory, 0o700);
      act(at);
    }
  } finally {
    closeSync(fd);
  }
}

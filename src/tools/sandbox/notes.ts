import { basename, relative } from 'node:path';
import type { UndoneChanges } from './workspace/planted-files.ts';

/** Returns notes about hidden secret files, if the command or its output names one. */
export function secretNotes(secrets: readonly string[], text: string, root: string): readonly string[] {
  const named = secrets.filter((path) => text.includes(basename(path)));
  if (named.length === 0) return [];
  const listed = named.slice(0, MAX_NAMED).map((path) => relative(root, path) || path);
  return [
    `[In the sandbox, ${listed.join(', ')} has no content, because its name suggests secrets. An approved command can read it; the user can always allow it with sandbox.show in config.yaml.]`,
  ];
}

/** Returns notes for the model about reverted changes, and about errors that only the sandbox explains. */
export function sandboxNotes(
  { moved, restored, failed }: UndoneChanges,
  {
    quarantine,
    printed,
    root,
  }: { readonly quarantine: string; readonly printed: string; readonly root: string },
): readonly string[] {
  const named = (paths: readonly string[]) => {
    const listed = paths.slice(0, MAX_NAMED).map((path) => relative(root, path) || path);
    return paths.length > MAX_NAMED
      ? `${listed.join(', ')} and ${paths.length - MAX_NAMED} more`
      : listed.join(', ');
  };
  return [
    ...(moved.length === 0
      ? []
      : [
          `[The sandbox moved ${named(moved)} to ${quarantine}, because other programs would run or obey such files later without asking. To create them, use the write tool, or run git init or git clone as a command of its own: both ask for approval.]`,
        ]),
    ...(restored.length === 0
      ? []
      : [
          `[The sandbox restored ${named(restored)}: commands must not change what other programs run, such as the scripts of a package.json. The changed version is in ${quarantine}. Use the edit or write tool, which asks for approval.]`,
        ]),
    ...failed.map(
      ({ path, reason }) =>
        `[The sandbox could not undo a change to ${path}: ${reason}. Tell the user to look at it before using it.]`,
    ),
    ...(READ_ONLY_GIT.test(printed)
      ? [
          '[In the sandbox, repositories are read-only for commands that run other programs too. Run git add, git commit and the like as a command of their own, with plain words as arguments: git add -A && git commit -m "message".]',
        ]
      : []),
    ...(READ_ONLY_STARTUP.test(printed)
      ? [
          '[In the sandbox, start-up files and settings of other programs are read-only for commands. Change them with the edit or write tool, which asks for approval.]',
        ]
      : []),
  ];
}

const MAX_NAMED = 8;
const READ_ONLY_GIT = /\.git\b.*(?:Read-only file system|Device or resource busy)/i;
const READ_ONLY_STARTUP =
  /^(?!.*\.git\b).*\/?\.[\w-]+.*(?:Read-only file system|EROFS|Device or resource busy)/im;

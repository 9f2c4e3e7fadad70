import type { Files, OpenFile } from '../../../src/store/index.ts';

/** Calls `at` right before and right after every operation that changes a file: the points at which a process can die. */
export function watched(files: Files, at: (operation: string) => void): Files {
  const now = <T>(operation: string, act: () => T): T => {
    at(operation);
    const result = act();
    at(operation);
    return result;
  };
  const later = async (operation: string, act: () => Promise<void>): Promise<void> => {
    at(operation);
    await act();
    at(operation);
  };
  const file = (opened: OpenFile): OpenFile => ({
    ...opened,
    append: (bytes) => now('append', () => opened.append(bytes)),
    overwrite: (bytes, position) => now('overwrite', () => opened.overwrite(bytes, position)),
    truncate: (size) => now('truncate', () => opened.truncate(size)),
    sync: () => later('sync', () => opened.sync()),
  });
  return {
    openToRead: (path) => files.openToRead(path),
    openToAppend: (path) => file(files.openToAppend(path)),
    openToUpdate: (path) => file(files.openToUpdate(path)),
    create: (path) => file(now('create', () => files.create(path))),
    stat: (path) => files.stat(path),
    readText: (path) => files.readText(path),
    rename: (from, to) => now('rename', () => files.rename(from, to)),
    link: (from, to) => now('link', () => files.link(from, to)),
    unlink: (path) => now('unlink', () => files.unlink(path)),
    makeDirectory: (path) => now('make directory', () => files.makeDirectory(path)),
    removeDirectory: (path) => now('remove directory', () => files.removeDirectory(path)),
    list: (path) => files.list(path),
    syncDirectory: (path) => later('sync directory', () => files.syncDirectory(path)),
  };
}

import { readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { hasNoSecrets, isJudgedByContent } from '../../policy/credentials.ts';
import { trackedNames } from '../../policy/git/git-index.ts';
import { isInside } from '../../policy/scope.ts';
import { linkedRepository } from './repositories.ts';
import type { WorkspaceFindings } from './scan.ts';

/**
 * Decides which files of a workspace are hidden from commands because their names suggest secrets: otherwise a
 * command that builds the name from parts could read what a command that names it must ask for. Tracked files
 * are not secret: they were shared on purpose, such as the keys of a test.
 */
export class WorkspaceSecrets {
  readonly #visible: readonly string[];
  /** The files that each repository tracked when it was first seen: a command must not track a file to see it. */
  readonly #tracked = new Map<string, ReadonlySet<string>>();

  /** `visible` are files and directories that the user makes visible to commands. */
  constructor(visible: readonly string[]) {
    this.#visible = visible;
  }

  hidden(found: readonly WorkspaceFindings[]): readonly string[] {
    const tracked = found.flatMap(({ notable }) =>
      [...notable.values()].flatMap(({ path, type }) => {
        if (type === 'repository') return [this.#trackedFiles(dirname(path), join(path, 'index'))];
        if (type !== 'repository-file') return [];
        const own = linkedRepository(path)?.worktree;
        return own === undefined ? [] : [this.#trackedFiles(dirname(path), join(own, 'index'))];
      }),
    );
    return found
      .flatMap(({ secrets }) => secrets)
      .filter(
        (path) =>
          !tracked.some((files) => files.has(path)) &&
          !this.#visible.some((visible) => isInside(visible, path)) &&
          !(isJudgedByContent(path) && hasNoSecrets(path, fileContent(path))),
      );
  }

  #trackedFiles(top: string, index: string): ReadonlySet<string> {
    const cached = this.#tracked.get(index);
    if (cached !== undefined) return cached;
    const content = fileContent(index);
    const names =
      content === undefined || 'problem' in content ? [] : (trackedNames(content.bytes, 20) ?? []);
    // A directory whose name suggests secrets is visible if a file in it is tracked.
    const files = names.flatMap((name) => [join(top, name), dirname(join(top, name))]);
    const tracked = new Set(files);
    this.#tracked.set(index, tracked);
    return tracked;
  }
}

function fileContent(path: string): { readonly bytes: Buffer } | { readonly problem: string } | undefined {
  try {
    if (!statSync(path).isFile()) return { problem: 'it is not a file' };
    return { bytes: readFileSync(path) };
  } catch {
    return undefined;
  }
}

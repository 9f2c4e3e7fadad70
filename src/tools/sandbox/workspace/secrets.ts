import { readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { hasNoSecrets, isJudgedByContent } from '../../policy/credentials.ts';
import { trackedNames } from '../../policy/git/git-index.ts';
import { isInside } from '../../policy/scope.ts';
import { linkedRepository } from './repositories.ts';
import type { Found } from './scan.ts';

/**
 * Decides which files of a workspace are hidden from commands, because by their names they hold secrets: otherwise a
 * command that spells the name in pieces reads what a command that names it has to ask for. What a repository tracks is
 * no secret: it was shared on purpose, such as the keys of a test.
 */
export class WorkspaceSecrets {
  readonly #shown: readonly string[];
  /** The files that each repository tracked when it was first seen: a command must not track one to see it. */
  readonly #tracked = new Map<string, ReadonlySet<string>>();

  /** `shown` are files and directories that the user lets commands see. */
  constructor(shown: readonly string[]) {
    this.#shown = shown;
  }

  hidden(found: readonly Found[]): readonly string[] {
    const tracked = found.flatMap(({ notable }) =>
      [...notable.values()].flatMap(({ path, type }) => {
        if (type === 'repository') return [this.#trackedIn(dirname(path), join(path, 'index'))];
        if (type !== 'repository-file') return [];
        const own = linkedRepository(path)?.own;
        return own === undefined ? [] : [this.#trackedIn(dirname(path), join(own, 'index'))];
      }),
    );
    return found
      .flatMap(({ secrets }) => secrets)
      .filter(
        (path) =>
          !tracked.some((files) => files.has(path)) &&
          !this.#shown.some((shown) => isInside(shown, path)) &&
          !(isJudgedByContent(path) && hasNoSecrets(path, contentOf(path))),
      );
  }

  #trackedIn(top: string, index: string): ReadonlySet<string> {
    const known = this.#tracked.get(index);
    if (known !== undefined) return known;
    const content = contentOf(index);
    const names =
      content === undefined || 'problem' in content ? [] : (trackedNames(content.bytes, 20) ?? []);
    // A directory that holds secrets by its name is shown if a file in it is tracked.
    const files = names.flatMap((name) => [join(top, name), dirname(join(top, name))]);
    const tracked = new Set(files);
    this.#tracked.set(index, tracked);
    return tracked;
  }
}

function contentOf(path: string): { readonly bytes: Buffer } | { readonly problem: string } | undefined {
  try {
    if (!statSync(path).isFile()) return { problem: 'it is no file' };
    return { bytes: readFileSync(path) };
  } catch {
    return undefined;
  }
}

import { readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { asPolypodError, isPartOfId, PolypodError } from '../../../base/index.ts';
import type { Host, Pod } from '../../../pod/index.ts';

/** The path of a new session file in a directory, named as in pi and xcsh. */
export function fileIn(directory: string | undefined): { readonly file?: (id: string) => string } {
  if (directory === undefined) return {};
  return {
    file: (id) => join(directory, `${new Date().toISOString().replaceAll(/[:.]/g, '-')}_${id}.jsonl`),
  };
}

/** The most recently written session in a directory, by any program. */
export async function latestIn(directory: string, host: Host): Promise<Pod | undefined> {
  const files = await Promise.all(
    (await sessionFilesIn(directory)).map(async (file) => ({ file, at: (await stat(file)).mtimeMs })),
  );
  for (const { file } of files.toSorted((one, other) => other.at - one.at)) {
    const pod = await host.openFile(file).catch((thrown: unknown) => {
      // Files that are not our session files are skipped.
      if (asPolypodError(thrown).code !== 'bad-request') throw thrown;
    });
    if (pod !== undefined) return pod;
  }
  return undefined;
}

/**
 * Finds the session by its id, or the beginning or end of it: in a directory or, as in pi, in the sibling directories of other working directories.
 */
export async function calledIn(directory: string, word: string, host: Host): Promise<Pod | undefined> {
  const beside = await readdir(dirname(directory), { withFileTypes: true }).catch(() => []);
  const others = beside
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(dirname(directory), name));
  for (const folder of [directory, ...others]) {
    const found = (await sessionFilesIn(folder)).filter((file) => isPartOfId(idIn(file), word));
    const [file, ...more] = found;
    if (more.length > 0)
      throw new PolypodError(
        'bad-request',
        `"${word}" matches ${found.length} sessions in ${folder}: use more characters of the id`,
      );
    if (file !== undefined) return host.openFile(file);
  }
  return undefined;
}

async function sessionFilesIn(directory: string): Promise<readonly string[]> {
  const names = await readdir(directory).catch(() => []);
  return names.filter((name) => name.endsWith(SUFFIX)).map((name) => join(directory, name));
}

/** Files are named `<time>_<id>.jsonl`. */
function idIn(file: string): string {
  return file.slice(file.lastIndexOf('_') + 1, -SUFFIX.length);
}

const SUFFIX = '.jsonl';

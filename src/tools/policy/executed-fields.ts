import { objectOf, tryParse } from '../../base/index.ts';
import type { FileFacts } from './file-facts.ts';
import type { PathLocation } from './real-path.ts';
import { plainPath } from './secret-files.ts';

/** Fields of a package.json by which package managers and git hooks run something. */
export const EXECUTED = [
  'scripts',
  'packageManager',
  'devEngines',
  'pnpm',
  'trustedDependencies',
  'husky',
  'lint-staged',
  'simple-git-hooks',
  'pre-commit',
  'pre-push',
  'gitHooks',
  'volta',
];

/** Files of which only a part runs later: whether a write needs approval depends on what it changes. */
export function isPartlyExecuted(path: string): boolean {
  return isManifest(path) || isHead(path);
}

function isManifest(path: string): boolean {
  return /(?:^|\/)package\.json$/.test(plainPath(path));
}

/** A directory with a HEAD may be a repository to git; most files of that name are something else. */
function isHead(path: string): boolean {
  return /(?:^|\/)head$/.test(plainPath(path));
}

/** Whether a write leaves everything as it is that other programs run. False when that cannot be told. */
export async function changesNothingRun(
  path: string,
  place: PathLocation,
  after: ((before: string | undefined) => string | undefined) | undefined,
  fileFacts: FileFacts,
): Promise<boolean> {
  if (after === undefined || !('real' in place)) return false;
  const names = [path, place.real];
  if (!names.some(isPartlyExecuted)) return false;
  const content = await fileFacts.read(place.real);
  if (content !== undefined && 'problem' in content) return false;
  const before = content?.bytes.toString();
  const result = after(before);
  if (result === undefined) return false;
  if (names.some(isHead) && /^(?:ref:|[\da-f]{40})/.test(result)) return false;
  if (!names.some(isManifest)) return true;
  const executed = executedIn(result);
  return executed !== undefined && executed === executedIn(before ?? '{}');
}

/** The executed fields as one text; undefined for what is not JSON: some programs read more than JSON. */
function executedIn(text: string): string | undefined {
  const manifest = tryParse(text.replace(/^\uFEFF/, ''));
  if (manifest === undefined) return undefined;
  return JSON.stringify(EXECUTED.map((field) => objectOf(manifest)[field] ?? null));
}

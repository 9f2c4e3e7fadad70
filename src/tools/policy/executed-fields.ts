import { objectOf, tryParse } from '../../base/index.ts';
import type { FileFacts } from './file-facts.ts';
import type { PathLocation } from './real-path.ts';
import { normalizePath } from './secret-files.ts';

/** Fields of a package.json that make package managers and git hooks run something. */
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

/** Returns whether only a part of the file is executed later, so that approval depends on what a write changes. */
export function isPartlyExecuted(path: string): boolean {
  return isManifest(path) || isHead(path);
}

function isManifest(path: string): boolean {
  return /(?:^|\/)package\.json$/.test(normalizePath(path));
}

/** A directory with a HEAD file may be a repository to git; most files of that name are something else. */
function isHead(path: string): boolean {
  return /(?:^|\/)head$/.test(normalizePath(path));
}

/** Returns whether a write changes nothing that other programs run; false if that is unknown. */
export async function keepsExecutedParts(
  path: string,
  location: PathLocation,
  after: ((before: string | undefined) => string | undefined) | undefined,
  fileFacts: FileFacts,
): Promise<boolean> {
  if (after === undefined || !('real' in location)) return false;
  const names = [path, location.real];
  if (!names.some(isPartlyExecuted)) return false;
  const content = await fileFacts.read(location.real);
  if (content !== undefined && 'problem' in content) return false;
  const before = content?.bytes.toString();
  const result = after(before);
  if (result === undefined) return false;
  if (names.some(isHead) && /^(?:ref:|[\da-f]{40})/.test(result)) return false;
  if (!names.some(isManifest)) return true;
  const executed = executedFields(result);
  return executed !== undefined && executed === executedFields(before ?? '{}');
}

/**
 * Returns the executed fields as text, or undefined if the file is not JSON: some programs accept more than
 * JSON.
 */
function executedFields(text: string): string | undefined {
  const manifest = tryParse(text.replace(/^\uFEFF/, ''));
  if (manifest === undefined) return undefined;
  return JSON.stringify(EXECUTED.map((field) => objectOf(manifest)[field] ?? null));
}

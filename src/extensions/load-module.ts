import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { PolypodError, systemCodeOf } from '../base/index.ts';

/** Loads the module of an extension, in JavaScript or TypeScript. For a directory, loads its index file. `check` can reject the file. */
export async function loadModule(path: string, check?: (file: string) => void): Promise<unknown> {
  const file = entryFile(path);
  check?.(file);
  if (!TYPESCRIPT.test(file) || supportsTypeScript()) {
    try {
      return await import(pathToFileURL(file).href);
    } catch (thrown) {
      if (!canTransform(thrown, file)) throw thrown;
    }
  }
  return (await import('./transform.ts')).importTransformed(file);
}

function entryFile(path: string): string {
  if (!existsSync(path)) throw new PolypodError('not-found', `${path} does not exist`);
  if (!statSync(path).isDirectory()) return path;
  const entry = INDEXES.map((name) => join(path, name)).find((file) => existsSync(file));
  if (entry !== undefined) return entry;
  throw new PolypodError('not-found', `the directory ${path} has none of ${INDEXES.join(', ')}`);
}

const INDEXES = ['index.ts', 'index.js', 'index.mjs'];
const TYPESCRIPT = /\.[cm]?tsx?$/;

/** Whether this Node.js can load TypeScript; version 20 cannot. */
function supportsTypeScript(): boolean {
  return Boolean(Reflect.get(process.features, 'typescript'));
}

/**
 * Whether the transform may load a module that Node.js rejected before running it: TypeScript syntax beyond types, imports
 * without a file extension, and modules of pi that are not installed.
 */
function canTransform(thrown: unknown, file: string): boolean {
  const code = systemCodeOf(thrown) ?? '';
  return RETRYABLE_CODES.has(code) || (thrown instanceof SyntaxError && TYPESCRIPT.test(file));
}

const RETRYABLE_CODES: ReadonlySet<string> = new Set([
  'ERR_MODULE_NOT_FOUND',
  'ERR_UNKNOWN_FILE_EXTENSION',
  'ERR_UNSUPPORTED_DIR_IMPORT',
  'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX',
  'ERR_INVALID_TYPESCRIPT_SYNTAX',
  'ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING',
]);

import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { PolypodError, systemCodeOf } from '../base/index.ts';

/** Loads the module of an extension, in JavaScript or TypeScript. A directory stands for the index file in it. */
export async function loadModule(path: string): Promise<unknown> {
  const file = entryIn(path);
  if (!TYPESCRIPT.test(file) || stripsTypes()) {
    try {
      return await import(pathToFileURL(file).href);
    } catch (thrown) {
      if (!mayTransform(thrown, file)) throw thrown;
    }
  }
  return (await import('./transform.ts')).importTransformed(file);
}

function entryIn(path: string): string {
  if (!existsSync(path)) throw new PolypodError('not-found', `${path} does not exist`);
  if (!statSync(path).isDirectory()) return path;
  const entry = INDEXES.map((name) => join(path, name)).find((file) => existsSync(file));
  if (entry !== undefined) return entry;
  throw new PolypodError('not-found', `the directory ${path} has none of ${INDEXES.join(', ')}`);
}

const INDEXES = ['index.ts', 'index.js', 'index.mjs'];
const TYPESCRIPT = /\.[cm]?tsx?$/;

/** Whether this Node reads TypeScript by itself, which 20 does not. */
function stripsTypes(): boolean {
  return Boolean(Reflect.get(process.features, 'typescript'));
}

/**
 * Whether the transform may load what Node has refused before it ran anything: TypeScript that is more than types, imports
 * without a file extension, and modules of pi that are not installed.
 */
function mayTransform(thrown: unknown, file: string): boolean {
  const code = systemCodeOf(thrown) ?? '';
  return REFUSALS.has(code) || (thrown instanceof SyntaxError && TYPESCRIPT.test(file));
}

const REFUSALS: ReadonlySet<string> = new Set([
  'ERR_MODULE_NOT_FOUND',
  'ERR_UNKNOWN_FILE_EXTENSION',
  'ERR_UNSUPPORTED_DIR_IMPORT',
  'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX',
  'ERR_INVALID_TYPESCRIPT_SYNTAX',
  'ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING',
]);

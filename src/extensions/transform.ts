import { createRequire } from 'node:module';
import { createJiti } from 'jiti';
import { systemCodeOf } from '../base/index.ts';
import { PI_MODULES } from './pi/modules.ts';

/**
 * Imports a module and its imports, transformed for this Node.js version: types, enums, imports without a file extension.
 * Modules of pi that are not installed beside it are replaced with ours.
 */
export async function importTransformed(file: string): Promise<unknown> {
  const missing = Object.entries(PI_MODULES).filter(([name]) => !isInstalled(name, file));
  const jiti = createJiti(import.meta.url, {
    // Never write to the disk or to stdout, whatever the environment variables say.
    fsCache: false,
    debug: false,
    virtualModules: Object.fromEntries(missing),
  });
  return jiti.import(file);
}

function isInstalled(name: string, file: string): boolean {
  try {
    createRequire(file).resolve(name);
    return true;
  } catch (thrown) {
    // Other errors mean that the package exists but does not support `require`.
    return systemCodeOf(thrown) !== 'MODULE_NOT_FOUND';
  }
}

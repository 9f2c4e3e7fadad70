import { createRequire } from 'node:module';
import { createJiti } from 'jiti';
import { systemCodeOf } from '../base/index.ts';
import { PI_MODULES } from './pi/modules.ts';

/**
 * Imports a module and what it imports, all of it transformed to what this Node reads: types, enums, imports without a file
 * extension. Modules of pi that are not installed beside it are ours.
 */
export async function importTransformed(file: string): Promise<unknown> {
  const missing = Object.entries(PI_MODULES).filter(([name]) => !isInstalled(name, file));
  const jiti = createJiti(import.meta.url, {
    // Nothing is written to the disk, and nothing to stdout, whatever the environment says.
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
    // Other refusals are those of a package that is there, but not for `require`.
    return systemCodeOf(thrown) !== 'MODULE_NOT_FOUND';
  }
}

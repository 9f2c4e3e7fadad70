import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** Sources as JavaScript, for processes of their own: no build has to be there for them. */
export interface Compiled {
  /** Where each source stands under the path it has in the repository. */
  readonly directory: string;
  readonly remove: () => void;
}

/** Compiles files, or all in folders, and whatever they import. */
export function compiled(...paths: readonly string[]): Compiled {
  const directory = mkdtempSync(join(tmpdir(), 'polypod-compiled-'));
  const config = {
    extends: resolve('tsconfig.json'),
    compilerOptions: {
      rootDir: resolve('.'),
      outDir: directory,
      typeRoots: [resolve('node_modules/@types')],
      declaration: false,
      sourceMap: false,
      noCheck: true,
    },
    include: paths.map((path) => resolve(path)),
  };
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(config));
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }');
  symlinkSync(resolve('node_modules'), join(directory, 'node_modules'));
  const compiler = resolve('node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [compiler, '-p', join(directory, 'tsconfig.json')]);
  return { directory, remove: () => rmSync(directory, { recursive: true, force: true }) };
}

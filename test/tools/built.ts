import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { temporaryDirectory } from './fixture.ts';

/**
 * Runs a module in a Node process of its own, which can load the tools from `./tools/`, and answers what it printed as
 * JSON. The sources are compiled for it, so that no build has to be there.
 */
export async function runBuilt(module: string, args: readonly string[] = []): Promise<unknown> {
  const directory = temporaryDirectory();
  const options = ['--outDir', directory, '--declaration', 'false', '--sourceMap', 'false', '--noCheck'];
  const run = promisify(execFile);
  await run(process.execPath, [
    resolve('node_modules/typescript/bin/tsc'),
    '-p',
    'tsconfig.json',
    ...options,
  ]);
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(directory, 'main.js'), module);
  const { stdout } = await run(process.execPath, [join(directory, 'main.js'), ...args]);
  return JSON.parse(stdout);
}

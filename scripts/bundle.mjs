// Bundles the command line into few files: loading 270 modules one by one takes most of the start-up time
// (docs/decisions/023-bundle.md). Code that only some commands need stays in its own files and is loaded on demand.
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bundleCli, IMPORT_FILE } from './cli-bundle.mjs';

const folder = fileURLToPath(new URL('../dist/cli/', import.meta.url));
const format = `${folder}package.json`;
// Of an earlier build: it would change how the modules of the compiler are read.
rmSync(format, { force: true });
const output = await bundleCli(`${folder}main.js`);

rmSync(folder, { recursive: true });
mkdirSync(folder);
for (const { fileName, code } of [...output, IMPORT_FILE]) writeFileSync(folder + fileName, code);
// The package has ECMAScript modules; these are not.
writeFileSync(format, '{ "type": "commonjs" }\n');
// The compiler does not set the executable bit; a linked or packed command needs it.
chmodSync(`${folder}main.js`, 0o755);

// Puts the command line together into few files: a process that loads 270 modules has spent its start on finding them
// (docs/decisions/023-bundle.md). What a command does not need stays in files of its own, loaded when it is wanted.
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const folder = fileURLToPath(new URL('../dist/cli/', import.meta.url));
const bundle = await rolldown({
  input: `${folder}main.js`,
  platform: 'node',
  // Packages are installed beside us, with their own licences.
  external: [/^node:/, /^[^./]/],
});
const { output } = await bundle.generate({
  format: 'esm',
  entryFileNames: 'main.js',
  chunkFileNames: '[name]-[hash].js',
  // Half of the text is comments and indentation, which has to be read too. Names stay, for whoever reads a trace.
  minify: { mangle: false, compress: false, codegen: { removeWhitespace: true } },
});
await bundle.close();

rmSync(folder, { recursive: true });
mkdirSync(folder);
for (const { fileName, code } of output) writeFileSync(folder + fileName, code);
// The compiler does not carry the executable bit over; a linked or packed command needs it.
chmodSync(`${folder}main.js`, 0o755);

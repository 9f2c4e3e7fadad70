import { resolve, sep } from 'node:path';
import { rolldown } from 'rolldown';

/**
 * Bundles the command line into one chunk per group of modules that load together. Returns rolldown's output chunks.
 * @param {string} input The entry module.
 */
export async function bundleCli(input) {
  const base = resolve(input, '../../base') + sep;
  const bundle = await rolldown({
    input,
    platform: 'node',
    // Packages are installed next to Polypod, with their own licences.
    external: [/^node:/, /^[^./]/],
    // Our modules only declare things. Without this, an index file keeps every module that it re-exports.
    treeshake: { moduleSideEffects: false },
  });
  const { output } = await bundle.generate({
    format: 'esm',
    entryFileNames: 'main.js',
    chunkFileNames: '[name]-[hash].js',
    // Every command needs some of base, each another part: as one file it loads faster than as the 20 that sharing would make. Its
    // subfolders are for a few commands.
    codeSplitting: {
      groups: [{ name: 'base', test: (id) => id.startsWith(base) && !id.slice(base.length).includes(sep) }],
    },
    // Comments and indentation are half of the text and cost time to read. Names are kept for stack traces.
    minify: { mangle: false, compress: false, codegen: { removeWhitespace: true } },
  });
  await bundle.close();
  return output;
}

import { existsSync } from 'node:fs';

/** Exits if the package is not built: benchmarks measure the built package. */
export function requireBuild() {
  if (existsSync(new URL('../dist/registry.js', import.meta.url))) return;
  console.error('dist/ is missing: run `npm run build` first');
  process.exit(2);
}

import { existsSync } from 'node:fs';

/** The built package is measured, as users get it; without it there is nothing to measure. */
export function requireBuild() {
  if (existsSync(new URL('../dist/registry.js', import.meta.url))) return;
  console.error('dist/ is missing: run `npm run build` first');
  process.exit(2);
}

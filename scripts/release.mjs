// Builds what a release consists of: node scripts/release.mjs [--out DIRECTORY]
//
// The packed package, its software bill of materials (CycloneDX JSON: every runtime dependency with version, licence and hash), and
// the SHA-256 sums of both. It publishes nothing.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: { out: { type: 'string', default: 'release' }, help: { type: 'boolean' } },
});
if (values.help) {
  console.log(`Usage: npm run release -- [--out DIRECTORY]

Builds the package and writes to DIRECTORY (default: release):
  polypod-VERSION.tgz        the package, as npm publishes it
  polypod-VERSION.cdx.json   its software bill of materials, CycloneDX 1.6
  SHA256SUMS                 the checksums of both`);
  process.exit(0);
}

const out = resolve(values.out);
const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
const files = [`polypod-${version}.tgz`, `polypod-${version}.cdx.json`];
mkdirSync(out, { recursive: true });

step('build', 'npm', ['run', 'build']);
step('pack', 'npm', ['pack', '--ignore-scripts', '--pack-destination', out]);
step('bill of materials', process.execPath, [
  'node_modules/@cyclonedx/cyclonedx-npm/bin/cyclonedx-npm-cli.js',
  ...['--omit', 'dev', '--spec-version', '1.6', '--output-reproducible', '--no-workspaces'],
  ...['--output-format', 'JSON', '--output-file', join(out, files[1])],
]);
const sums = files.map((name) => `${sha256(join(out, name))}  ${name}\n`);
writeFileSync(join(out, 'SHA256SUMS'), sums.join(''));
console.log(`${sums.join('')}in ${out}`);

function step(name, command, args) {
  console.log(`${name} …`);
  execFileSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] });
}

function sha256(path) {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

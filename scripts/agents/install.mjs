// Installs agents from npm for the tests of the back ends, each in a directory of its own: they are not dependencies of the package.
//   node scripts/agents/install.mjs [NAME…]      all agents without names; into .agents, or $POLYPOD_TEST_AGENTS
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AGENTS, agentsDirectory } from './agents.mjs';

/** Installs one agent; returns whether it is there. A complete installation of the same versions is kept. */
export function installAgent(name) {
  const { packages } = AGENTS[name];
  const directory = join(agentsDirectory, name);
  const stamp = join(directory, 'installed.json');
  const wanted = JSON.stringify(packages);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return true;
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'package.json'), '{"private":true}');
  const { status, stdout, stderr } = spawnSync(
    'npm',
    ['install', '--no-audit', '--no-fund', '--loglevel=error', ...packages],
    { cwd: directory, encoding: 'utf8' },
  );
  if (status === 0) writeFileSync(stamp, wanted);
  else console.error(`${name} could not be installed:\n${stdout}${stderr}`);
  return status === 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const names = process.argv.slice(2);
  const unknown = names.filter((name) => !(name in AGENTS));
  if (unknown.length > 0) {
    console.error(`unknown: ${unknown.join(', ')}. Choose from ${Object.keys(AGENTS).join(', ')}.`);
    process.exit(2);
  }
  let failed = 0;
  for (const name of names.length === 0 ? Object.keys(AGENTS) : names) {
    const isThere = installAgent(name);
    console.log(`${name}: ${isThere ? 'installed' : 'not installed'}`);
    failed += isThere ? 0 : 1;
  }
  process.exit(failed === 0 ? 0 : 1);
}

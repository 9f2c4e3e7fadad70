import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Bubblewrap } from './mount.ts';

const cache = new Map<string, Promise<Bubblewrap>>();

/** Returns what an installed bubblewrap supports, from its help text: versions before 0.8 lack optional options. */
export function bubblewrapAt(program: string): Promise<Bubblewrap> {
  const found = cache.get(program) ?? detect(program);
  cache.set(program, found);
  return found;
}

async function detect(program: string): Promise<Bubblewrap> {
  const help = await promisify(execFile)(program, ['--help'], { env: {}, timeout: 10_000 }).then(
    ({ stdout, stderr }) => stdout + stderr,
    () => '',
  );
  return {
    program,
    hasSize: help.includes('--size '),
    hasPerms: help.includes('--perms '),
    hasDisableUserns: help.includes('--disable-userns'),
  };
}

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Bubblewrap } from './mount.ts';

const known = new Map<string, Promise<Bubblewrap>>();

/** What an installed bubblewrap can do, by its own help text: versions before 0.8 lack options that we can do without. */
export function bubblewrapAt(program: string): Promise<Bubblewrap> {
  const found = known.get(program) ?? look(program);
  known.set(program, found);
  return found;
}

async function look(program: string): Promise<Bubblewrap> {
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

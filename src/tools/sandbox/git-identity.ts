import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { programOnPath } from '../process/on-path.ts';

/**
 * Settings of the user's git configuration that commits depend on. None of them contains a secret or names a
 * program.
 */
const KEPT = new Set([
  'user.name',
  'user.email',
  'init.defaultbranch',
  'core.autocrlf',
  'core.eol',
  'core.quotepath',
]);

/** Returns a git configuration with the user's name and the like, for a home directory without the user's files. */
export async function gitIdentity(env: Readonly<Record<string, string>>): Promise<string> {
  const git = await programOnPath('git', env);
  if (git === undefined) return '';
  try {
    // Outside any repository: only user and system settings count.
    const { stdout } = await promisify(execFile)(git, ['config', '--list', '--null'], {
      env: { ...env, GIT_CEILING_DIRECTORIES: '/', GIT_DIR: '/dev/null' },
      cwd: '/',
      timeout: 5_000,
    });
    const settings = stdout.split('\0').flatMap((entry): readonly (readonly [string, string])[] => {
      const at = entry.indexOf('\n');
      const name = entry.slice(0, at);
      return at > 0 && KEPT.has(name) ? [[name, entry.slice(at + 1)]] : [];
    });
    return [...new Map(settings)].map(([name, value]) => line(name, value)).join('');
  } catch {
    // Without a configuration, git asks for a name when it commits, and explains how to set one.
    return '';
  }
}

function line(name: string, value: string): string {
  const [section = '', key = ''] = name.split('.');
  const quoted = value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
  return `[${section}]\n\t${key} = "${quoted}"\n`;
}

import type { Attempt } from '../attempt.ts';
import { archives } from './archives.ts';
import { buildTools } from './build-tools.ts';
import { editors } from './editors.ts';
import { environment } from './environment.ts';
import { git } from './git.ts';
import { interpreters } from './interpreters.ts';
import { links } from './links.ts';
import { network } from './network.ts';
import { ownFiles } from './own-files.ts';
import { packageManagers } from './package-managers.ts';
import { proc } from './proc.ts';
import { secrets } from './secrets.ts';
import { sockets } from './sockets.ts';
import { startupFiles } from './startup-files.ts';
import { unicode } from './unicode.ts';

/** Attempts that wait for a change of the policy which is under way. */
const WAITING = new Set([
  'linked refs',
  'linked packed refs',
  'linked shallow file',
  'hard link to the configuration',
  'hard link to a hook',
  'submodule',
  'a script of its own, then npm',
  'commands through links',
  'hard link to a secret',
  'hard link to a file outside',
  'hard link to a shell start-up file',
  'echo ../out/*',
  'printf "%s\\n" ../out/*',
  'stat ../out/*',
  'invisible differences in an edit',
  'scripts by write',
  'scripts by edit',
  'a new script by edit',
  'scripts in a new package',
  'scripts in a JSON with duplicate keys',
  'scripts with an escaped key',
  'scripts by another case',
  'a link that is written through',
  'a hard link that is written through',
  'a remote with a password',
]);

const ready = (attempts: readonly Attempt[]): readonly Attempt[] =>
  attempts.filter(({ name }) => !WAITING.has(name));

/** All attempts, by the kind of weakness that they look for. */
export const FAMILIES: Readonly<Record<string, readonly Attempt[]>> = {
  git: ready(git),
  'build tools': ready(buildTools),
  interpreters: ready(interpreters),
  'archive tools': ready(archives),
  links: ready(links),
  '/proc': ready(proc),
  sockets: ready(sockets),
  environment: ready(environment),
  Unicode: ready(unicode),
  'start-up files': ready(startupFiles),
  editors: ready(editors),
  'package managers': ready(packageManagers),
  'own files of Polypod': ready(ownFiles),
  secrets: ready(secrets),
  network: ready(network),
};

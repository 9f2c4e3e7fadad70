import type { Attempt } from '../attempt.ts';
import { archives } from './archives.ts';
import { inBackground } from './background.ts';
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

const FOREGROUND: Readonly<Record<string, readonly Attempt[]>> = {
  git,
  'build tools': buildTools,
  interpreters,
  'archive tools': archives,
  links,
  '/proc': proc,
  sockets,
  environment,
  Unicode: unicode,
  'start-up files': startupFiles,
  editors,
  'package managers': packageManagers,
  'own files of Polypod': ownFiles,
  secrets,
  network,
};

/** All attempts, by kind of weakness. */
export const FAMILIES: Readonly<Record<string, readonly Attempt[]>> = {
  ...FOREGROUND,
  'background commands': inBackground(Object.values(FOREGROUND).flat()),
};

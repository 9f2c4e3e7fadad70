import { lstatSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { namesIn } from '../../base/index.ts';
import type { Mount } from './mount.ts';

/** Returns what every program needs of the system, read-only: programs, libraries and the public parts of /etc. */
export function systemMounts(): readonly Mount[] {
  return [
    ...['/usr', '/nix/store', '/gnu/store', '/run/current-system'].flatMap(ifExists),
    ...['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'].flatMap(linkOrDirectory),
    ...etcEntries().flatMap(publicEntry),
  ];
}

/** Directories that the system mounts provide: programs in them need nothing else. */
export const SYSTEM_DIRECTORIES = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/nix/store',
  '/gnu/store',
];

/** Where libraries, certificates, names and times are looked up. None contains a secret. */
const ETC =
  'alternatives ld.so.cache ld.so.conf ld.so.conf.d passwd group nsswitch.conf hosts host.conf gai.conf protocols services ' +
  'localtime timezone os-release lsb-release debian_version locale.conf locale.alias mime.types magic inputrc ' +
  'ssl/certs ssl/cert.pem ssl/openssl.cnf ca-certificates pki/tls/certs pki/tls/cert.pem pki/tls/openssl.cnf ' +
  'pki/ca-trust/extracted crypto-policies static fonts python3 perl';

function etcEntries(): readonly string[] {
  const named = ETC.split(' ').map((name) => join('/etc', name));
  // Debian stores the configuration that Java needs to start there.
  const java = namesIn('/etc').filter((name) => /^java(?:-|$)/.test(name));
  return [...named, ...java.map((name) => join('/etc', name))];
}

/** Root could read more than other users; what they may not read is not for commands either. */
function publicEntry(path: string): readonly Mount[] {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined || (stats.mode & 0o004) === 0 ? [] : [{ type: 'read-only', target: path }];
}

function ifExists(path: string): readonly Mount[] {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
    ? [{ type: 'read-only', target: path }]
    : [];
}

function linkOrDirectory(path: string): readonly Mount[] {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return [];
  if (stats.isSymbolicLink()) return [{ type: 'link', target: path, to: readlinkSync(path) }];
  return [{ type: 'read-only', target: path }];
}

import { existsSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { tryOrUndefined, namesIn } from '../../base/index.ts';
import { isInside } from '../policy/scope.ts';
import { isSecret } from '../policy/secret-files.ts';
import type { Mount } from './mount.ts';
import { SYSTEM_DIRECTORIES } from './system-mounts.ts';

export interface ToolchainOptions {
  readonly env: Readonly<Record<string, string>>;
  /** The user's home directory; never mounted as a whole. */
  readonly home: string;
  /** Paths that must not be visible, whatever PATH contains. */
  readonly hidden: readonly string[];
}

/**
 * Returns the user's programs, read-only: what PATH and the variables of version managers name, unless it is
 * part of the system. A program needs its libraries, so for `prefix/bin` all of `prefix` is visible, unless
 * that would expose a home directory or one that many programs share: then only `bin`.
 */
export function toolchainMounts(options: ToolchainOptions): readonly Mount[] {
  const { env, home } = options;
  const onPath = (env['PATH'] ?? '').split(':').filter(isAbsolute);
  const linked = onPath.filter((directory) => !DISTRIBUTION.includes(directory)).flatMap(linkTargets);
  const rustup = onPath.some((directory) => basename(dirname(directory)) === '.cargo')
    ? [join(home, '.rustup')]
    : [];
  const named = VARIABLES.flatMap((name) => {
    const value = env[name];
    return value !== undefined && isAbsolute(value) ? [value] : [];
  });
  const userPackages = [join(home, '.local/lib')].filter(() => onPath.includes(join(home, '.local/bin')));
  const visible = [
    ...onPath.map((directory) => installPrefix(directory, home)),
    ...linked.map((file) => installPrefix(dirname(file), home)),
    ...[...rustup, ...named, ...userPackages].filter((path) => !isTooBroad(path, home)),
  ];
  const roots = [...new Set(visible.flatMap(withRealPath))].filter((path) => mayShow(path, options));
  const outer = roots.filter((path) => !roots.some((other) => other !== path && isInside(other, path)));
  return [
    ...outer.map((path): Mount => ({ type: 'read-only', target: path, source: realpathSync(path) })),
    ...outer.flatMap(credentialsIn).map((target): Mount => ({ type: 'empty-file', target })),
  ];
}

/** Package managers link within /usr only. */
const DISTRIBUTION = ['/usr/bin', '/usr/sbin', '/bin', '/sbin'];

/** Variables by which version managers and compilers announce where they are installed. */
const VARIABLES =
  'CARGO_HOME RUSTUP_HOME GOROOT GOPATH JAVA_HOME NVM_DIR PYENV_ROOT RBENV_ROOT VOLTA_HOME ASDF_DIR ASDF_DATA_DIR CONDA_PREFIX VIRTUAL_ENV DOTNET_ROOT BUN_INSTALL DENO_INSTALL SDKMAN_DIR ANDROID_HOME HOMEBREW_PREFIX'.split(
    ' ',
  );

function installPrefix(directory: string, home: string): string {
  if (!/^(?:s?bin|shims)$/.test(basename(directory))) return directory;
  const prefix = dirname(directory);
  if (isTooBroad(prefix, home)) return directory;
  // A project or a collection of settings may also have a directory for programs.
  const isToolchain = isInside(home, prefix)
    ? TOOLCHAINS.test(prefix.slice(home.length))
    : !existsSync(join(prefix, '.git'));
  return isToolchain ? prefix : directory;
}

/** Where version managers and installers put programs in a home directory. */
const TOOLCHAINS =
  /^\/(?:\.(?:nvm|n|fnm|volta|nodenv|bun|deno|npm-global|npm-packages|yarn|pyenv|rye|poetry|pixi|conda|rbenv|rvm|cargo|rustup|goenv|jenv|sdkman|asdf|dotnet|ghcup|cabal|stack|opam|elan|juliaup|julia|phpbrew|composer|krew|foundry|nix-profile|linuxbrew|proto)|\.local\/share\/(?:mise|rtx|fnm|nvm|pnpm|uv|pipx|pyenv|rbenv|virtualenvs|nodenv|asdf)|\.local\/(?:state\/nix|pipx)|go|sdk|miniconda3?|anaconda3?|miniforge3|mambaforge|google-cloud-sdk|Android\/Sdk)(?:\/|$)/;

/** Returns whether a directory contains files of many programs, including the user's own. */
function isTooBroad(directory: string, home: string): boolean {
  const inHome = ['', '.local', '.local/share', '.config', '.cache', '.var', 'snap', 'Library'];
  return (
    isInside(directory, home) ||
    inHome.some((name) => directory === join(home, name)) ||
    ['/', '/opt', '/home', '/srv', '/var', '/mnt', '/media', '/root', '/tmp', '/run', '/etc'].includes(
      directory,
    )
  );
}

function mayShow(path: string, { home, hidden }: ToolchainOptions): boolean {
  return (
    statSync(path, { throwIfNoEntry: false })?.isDirectory() === true &&
    !isTooBroad(path, home) &&
    !SYSTEM_DIRECTORIES.some((directory) => isInside(directory, path)) &&
    !/^\/(?:proc|sys|dev)(?:\/|$)/.test(path) &&
    // WSL puts Windows programs on the PATH, which cannot run in a sandbox.
    !/^\/mnt\/[a-z](?:\/|$)/.test(path) &&
    !isSecret(path) &&
    !hidden.some((hiddenPath) => isInside(hiddenPath, path))
  );
}

/** Credential files next to a tool's programs: `~/.cargo/credentials.toml`, an `.npmrc`. */
function credentialsIn(directory: string): readonly string[] {
  return namesIn(directory)
    .map((name) => join(directory, name))
    .filter((path) => isSecret(path) || /^(?:credentials|auth|token)\b/i.test(basename(path)))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true);
}

/** Returns the real locations of a directory's linked programs. */
function linkTargets(directory: string): readonly string[] {
  const entries = tryOrUndefined(() => readdirSync(directory, { withFileTypes: true })) ?? [];
  return entries
    .filter((entry) => entry.isSymbolicLink())
    .flatMap(({ name }) => withRealPath(join(directory, name)).slice(1));
}

/** Returns the path, and its target if it is a link; nothing if it leads nowhere. */
function withRealPath(path: string): readonly string[] {
  const real = tryOrUndefined(() => realpathSync(path));
  return real === undefined ? [] : [...new Set([path, real])];
}

import { createHash } from 'node:crypto';
import { lstatSync, realpathSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { messageOf, PolypodError, unreadablePathNote, tryOrUndefined } from '../../base/index.ts';
import { programOnPath } from '../process/on-path.ts';
import type { PermissionMode } from '../policy/permission-mode.ts';
import { isInside } from '../policy/scope.ts';
import type { Sandbox, SandboxedCommand, SandboxRequest } from '../tool.ts';
import { bubblewrapAt } from './bubblewrap.ts';
import { CERTIFICATE_VARIABLES, cleanEnv } from './clean-env.ts';
import { coverMount } from './cover.ts';
import { isRecordingCommand, runsOnlyGit } from '../policy/git/git-recording.ts';
import { gitIdentity } from './git-identity.ts';
import { homeSecretMounts } from './home-secrets.ts';
import { UnlinkedFile, createUnlinkedFile } from './unlinked-file.ts';
import { type Bubblewrap, type Mount, mountArguments } from './mount.ts';
import { waitForNamespaceEnd } from './namespace-end.ts';
import { sandboxNotes, secretNotes } from './notes.ts';
import { takeSnapshot, undoPlanted } from './workspace/planted-files.ts';
import { SandboxStartError, probe, sandboxUnavailable } from './probe.ts';
import { seccompFilter } from './seccomp.ts';
import { systemMounts } from './system-mounts.ts';
import { toolchainMounts } from './toolchains.ts';
import { ancestorMounts, workspaceProtection } from './workspace/protection-plan.ts';
import { WorkspaceScan } from './workspace/scan.ts';
import { WorkspaceSecrets } from './workspace/secrets.ts';

export interface SandboxOptions {
  /** The environment for commands: where bubblewrap and the user's programs are looked up. */
  readonly env: Readonly<Record<string, string>>;
  /** The user's home directory. Commands see an empty one instead, unless they work in it. */
  readonly home: string;
  /** Files and directories that commands must not see: Polypod's own. */
  readonly hidden?: readonly string[];
  /** What commands may read in addition to the workspace, the system and the programs on the PATH. */
  readonly readable?: readonly string[];
  /** Files of the workspace that commands may see although their names suggest secrets. */
  readonly shown?: readonly string[];
  /** Variables that commands get although they may contain secrets. */
  readonly passEnv?: readonly string[];
  /** The memory limit for each directory for temporary files. */
  readonly scratchBytes?: number;
}

/** Where a command may write, and how far it is trusted there. */
export interface SandboxScope {
  readonly writable: readonly string[];
  /** `read-only`: nothing is written. `full-access`: repositories and start-up files may be changed. */
  readonly mode: PermissionMode;
}

/** Sandboxes for the commands of one agent. */
export interface Sandboxes {
  readonly around: (scope: SandboxScope) => Sandbox;
  /** A description of what protects the host. */
  readonly features: readonly string[];
}

/**
 * Opens bubblewrap sandboxes. A command sees the system's programs, the user's toolchains, the workspace and an
 * empty home directory; no other file, process, socket or network. In the workspace it cannot change what other
 * programs would run later: repositories and start-up files are read-only, and new ones are moved away when it
 * ends. Throws `denied` if the sandbox does not hold on this machine: commands never run without it instead.
 */
export async function openSandboxes(options: SandboxOptions, first: SandboxScope): Promise<Sandboxes> {
  const program = await programOnPath('bwrap', options.env);
  if (program === undefined)
    throw new PolypodError(
      'denied',
      `The sandbox needs bubblewrap: install the package bubblewrap, which brings bwrap${unreadablePathNote(options.env['PATH'])}.`,
    );
  const shell = (await programOnPath('bash', options.env)) ?? '/bin/sh';
  const [bubblewrap, identity] = await Promise.all([bubblewrapAt(program), gitIdentity(options.env)]);
  let failure: SandboxStartError | undefined;
  for (const { next, ...variant } of VARIANTS) {
    const sandboxes = new BubblewrapSandboxes(options, { ...bubblewrap, ...variant }, identity);
    try {
      await sandboxes.prove(first, shell);
      return sandboxes;
    } catch (thrown) {
      if (!(thrown instanceof SandboxStartError)) throw thrown;
      failure ??= thrown;
      if (!next.test(thrown.message)) break;
    }
  }
  throw sandboxUnavailable(failure?.message ?? '');
}

/** Machines on which not everything works: what to omit, and after which failure the next variant is tried. */
const VARIANTS: readonly (Partial<Bubblewrap> & { readonly hasProc: boolean; readonly next: RegExp })[] = [
  { hasProc: true, next: /mount proc|disable-userns/i },
  { hasProc: true, hasDisableUserns: false, next: /mount proc/i },
  { hasProc: false, next: /^(?!)/ },
];

interface Variant extends Bubblewrap {
  /** Whether it has its own /proc. Some containers do not allow it; then /proc is empty. */
  readonly hasProc: boolean;
}

/** Sandboxes that have passed the probe, by everything that they depend on. */
const proved = new Set<string>();

class BubblewrapSandboxes implements Sandboxes {
  readonly #options: SandboxOptions;
  readonly #variant: Variant;
  readonly #filter: UnlinkedFile | undefined;
  readonly #identity: UnlinkedFile;
  /** The mounts that are the same for every workspace. */
  readonly #base: readonly Mount[];
  readonly #home: string;
  readonly #secrets: WorkspaceSecrets;
  readonly #blank = cachedFile(Buffer.alloc(0));

  constructor(options: SandboxOptions, variant: Variant, identity: string) {
    const { env, hidden = [], readable = [] } = options;
    this.#options = options;
    this.#variant = variant;
    this.#home = realOr(options.home);
    this.#secrets = new WorkspaceSecrets((options.shown ?? []).map(realOr));
    const filter = seccompFilter();
    this.#filter = filter === undefined ? undefined : cachedFile(filter);
    this.#identity = cachedFile(Buffer.from(identity));
    const certificates = CERTIFICATE_VARIABLES.flatMap((name) => env[name] ?? []).filter(isAbsolute);
    this.#base = [
      ...systemMounts(),
      ...toolchainMounts({ env, home: this.#home, hidden }),
      ...[...readable, ...certificates].flatMap(readOnlyMounts),
    ];
  }

  get features(): readonly string[] {
    const { hasDisableUserns, hasProc, hasSize } = this.#variant;
    return [
      'own files, processes and network',
      this.#filter === undefined
        ? `no system call filter, for lack of one for ${process.arch}`
        : 'system call filter',
      hasDisableUserns ? 'no further user namespaces' : 'further user namespaces denied by the filter alone',
      ...(hasProc ? [] : ['an empty /proc, because this container hides parts of it']),
      ...(hasSize ? [] : ['temporary files without a limit, because bubblewrap is older than 0.7']),
    ];
  }

  around(scope: SandboxScope): Sandbox {
    return { prepare: (request) => this.#prepare(scope, request) };
  }

  /** Runs the probe, unless the same sandbox has already passed it. */
  async prove(scope: SandboxScope, shell: string): Promise<void> {
    const { env, hidden } = this.#options;
    const parts = JSON.stringify([this.#variant, this.#base, scope, env['PATH'], hidden, shell]);
    const key = createHash('sha256').update(parts).digest('base64');
    if (proved.has(key)) return;
    const gaps = await probe(this.around(scope), { cwd: scope.writable[0] ?? '/', env, shell });
    if (gaps.length > 0)
      throw new PolypodError(
        'denied',
        `The sandbox does not hold on this machine: ${gaps.join('; ')}. Work without --sandbox, or report this as a bug.`,
      );
    proved.add(key);
  }

  async #prepare(scope: SandboxScope, request: SandboxRequest): Promise<SandboxedCommand> {
    const isReadOnly = scope.mode === 'read-only';
    const isTrusted = scope.mode === 'full-access' || request.approved;
    const roots = outermost(scope.writable.map(workspaceRoot));
    const cwd = realOr(request.cwd);
    const { mounts, covers, absent, hasHome } = this.#outline(roots, request.cwd, isReadOnly);
    const closed = new Set(
      mounts.concat(covers).flatMap(({ type, target }) => (type === 'writable' ? [] : [target])),
    );
    const workspaces = roots.map(cachedScan);
    const found = await Promise.all(workspaces.map((scan) => scan.scan(closed)));
    const sockets = found.flatMap((one) =>
      one.sockets.map((target): Mount => ({ type: 'empty-file', target })),
    );
    const isRecording = !isReadOnly && !isTrusted && isRecordingCommand(request.text, cwd);
    const protection = workspaceProtection(found, {
      roots,
      cwd,
      access: isRecording ? 'recording' : isTrusted && !isReadOnly ? 'all' : 'none',
      mayRebase: /\b(?:rebase|am)\b/.test(request.text),
      isProtected: !isReadOnly && !isTrusted,
    });
    // Git would record the empty files. Another program next to it could show their content.
    const showsSecrets = isTrusted || (isRecording && runsOnlyGit(request.text, cwd));
    const secrets = showsSecrets ? [] : this.#secrets.hidden(found);
    const inner = [...covers, ...sockets];
    const anchors = isReadOnly
      ? []
      : ancestorMounts(
          inner.map(({ target }) => target),
          [...mounts, ...covers, ...protection.mounts],
          roots,
        );
    const snapshot = takeSnapshot(found, [...absent, ...protection.absent]);
    const descriptors: number[] = [];
    const give = (descriptor: number): string => String(2 + descriptors.push(descriptor));
    const status = createUnlinkedFile();
    const args = [
      ...this.#arguments(
        [...mounts, ...anchors, ...protection.mounts, ...inner, ...secrets.map(blankMount)],
        give,
      ),
      '--info-fd',
      give(status),
    ];
    return {
      program: this.#variant.program,
      args: [...args, '--chdir', cwd, '--', request.program, ...request.args],
      env: { ...cleanEnv(request.env, this.#options.passEnv ?? []), HOME: hasHome ? this.#home : '/tmp' },
      descriptors,
      finish: async (printed) => {
        await waitForNamespaceEnd(status);
        const hidden = secretNotes(secrets, `${request.text}\n${printed}`, roots[0] ?? '/');
        if (isReadOnly) return hidden;
        const quarantine = join(request.scratch, `removed-${Date.now().toString(36)}`);
        const after = isTrusted ? [] : await Promise.all(workspaces.map((scan) => scan.scan(closed, true)));
        const undone = undoPlanted(snapshot, after, quarantine);
        return [...sandboxNotes(undone, { quarantine, printed, root: roots[0] ?? '/' }), ...hidden];
      },
    };
  }

  /** Returns everything but what is found in the workspace. */
  #outline(
    roots: readonly string[],
    cwd: string,
    isReadOnly: boolean,
  ): {
    readonly mounts: readonly Mount[];
    readonly covers: readonly Mount[];
    /** Paths of ours that do not exist, and must not be created by a command. */
    readonly absent: readonly string[];
    readonly hasHome: boolean;
  } {
    const { hidden = [], scratchBytes: bytes = DEFAULT_SCRATCH_BYTES } = this.#options;
    const home = this.#home;
    const isHomeVisible = roots.some((root) => isInside(root, home));
    const isShown = (path: string) => roots.some((root) => isInside(root, path));
    // In a project, a toolchain is part of it, such as a virtual environment; in a home directory it is not.
    const base = this.#base.filter(({ target }) => isHomeVisible || !isShown(target));
    const scratch = ['/tmp', '/var/tmp', '/run', '/dev/shm'].map(
      (target): Mount => ({ type: 'scratch', target, bytes, mode: '1777' }),
    );
    const canHaveHome = !isHomeVisible && home !== '/' && !/^\/(?:usr|etc|proc|sys|dev)(?:\/|$)/.test(home);
    const visible = [...roots, ...base.flatMap(({ type, target }) => (type === 'read-only' ? [target] : []))];
    const ownPaths = hidden.filter((path) => visible.some((root) => isInside(root, path)));
    const secrets = isHomeVisible ? homeSecretMounts(home, roots) : [];
    const covers = [...ownPaths.flatMap((path) => coverMount(path) ?? []), ...secrets].filter(
      ({ target }) =>
        visible.some((root) => isInside(root, target)) && !roots.some((root) => isInside(target, root)),
    );
    return {
      mounts: [
        ...scratch,
        ...(canHaveHome ? [{ type: 'scratch', target: home, bytes, mode: '0700' } as const] : []),
        ...base,
        ...roots.map((target): Mount => ({ type: isReadOnly ? 'read-only' : 'writable', target })),
        ...directoryMounts(cwd, visible),
      ],
      covers: outer(covers),
      absent: ownPaths.filter((path) => isShown(path) && !exists(path)),
      hasHome: canHaveHome || isHomeVisible,
    };
  }

  /** `give` passes an open file to bubblewrap and returns its number there. */
  #arguments(mounts: readonly Mount[], give: (descriptor: number) => string): readonly string[] {
    const { hasProc, hasDisableUserns } = this.#variant;
    const hasOwnHome = mounts.some(({ type, target }) => type === 'scratch' && target === this.#home);
    return [
      '--unshare-user',
      ...(hasDisableUserns ? ['--disable-userns'] : []),
      ...'--unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try --unshare-net'.split(' '),
      ...'--die-with-parent --new-session --cap-drop ALL'.split(' '),
      hasProc ? '--proc' : '--tmpfs',
      ...'/proc --remount-ro /proc --dev /dev'.split(' '),
      ...mountArguments(mounts, this.#variant, () => give(this.#blank.open())),
      ...(hasOwnHome ? ['--file', give(this.#identity.open()), join(this.#home, '.gitconfig')] : []),
      ...'--remount-ro /dev --remount-ro /'.split(' '),
      ...(this.#filter === undefined ? [] : ['--seccomp', give(this.#filter.open())]),
    ];
  }
}

/** The most recently used ones, for all agents: a daemon may have many agents in one workspace. */
const scans = new Map<string, WorkspaceScan>();

function cachedScan(root: string): WorkspaceScan {
  const scan = scans.get(root) ?? new WorkspaceScan(root);
  scans.delete(root);
  scans.set(root, scan);
  for (const oldest of scans.keys()) {
    if (scans.size <= MAX_SCANS) break;
    scans.delete(oldest);
  }
  return scan;
}

const MAX_SCANS = 16;

const DEFAULT_SCRATCH_BYTES = 1024 ** 3;

/** Files are cached for the life of the process, one for each content. */
const cachedFiles = new Map<string, UnlinkedFile>();

function cachedFile(content: Buffer): UnlinkedFile {
  const key = content.toString('base64');
  const file = cachedFiles.get(key) ?? new UnlinkedFile(content);
  cachedFiles.set(key, file);
  return file;
}

/** Returns the real path of a directory that commands may write to. */
function workspaceRoot(directory: string): string {
  const root = realDirectory(directory);
  if (
    /^\/(?:(?:proc|sys|dev|usr|etc|bin|sbin|lib\w*)(?:\/.*)?)?$/.test(root) &&
    !/^\/usr\/(?:src|local\/src)\//.test(root)
  )
    throw new PolypodError(
      'denied',
      `The sandbox cannot work in ${root}, which belongs to the system. Work in a directory of your own.`,
    );
  return root;
}

function realDirectory(directory: string): string {
  try {
    return realpathSync(directory);
  } catch (thrown) {
    const message = `The sandbox cannot make ${directory} writable: ${messageOf(thrown)}. Name a directory that exists.`;
    throw new PolypodError('denied', message, { cause: thrown });
  }
}

function realOr(path: string): string {
  return tryOrUndefined(() => realpathSync(path)) ?? path;
}

/** Removes paths that are inside another one. */
function outermost(paths: readonly string[]): readonly string[] {
  const all = [...new Set(paths)];
  return all.filter((path) => !all.some((other) => other !== path && isInside(other, path)));
}

function outer(mounts: readonly Mount[]): readonly Mount[] {
  const targets = outermost(mounts.map(({ target }) => target));
  return targets.flatMap((target) => mounts.find((mount) => mount.target === target) ?? []);
}

/** Returns mounts for a readable path, if it exists. */
function readOnlyMounts(path: string): readonly Mount[] {
  const real = tryOrUndefined(() => realpathSync(path));
  if (real === undefined) return [];
  const mount: Mount = { type: 'read-only', target: real };
  return real === path ? [mount] : [mount, { type: 'read-only', target: path, source: real }];
}

/** Returns mounts for the directory in which a command starts: at least readable, and also by its linked name. */
function directoryMounts(cwd: string, visible: readonly string[]): readonly Mount[] {
  const real = realOr(cwd);
  const isShown = (path: string) => visible.some((root) => isInside(root, path));
  return [
    ...(isShown(real) ? [] : readOnlyMounts(real)),
    ...(real === cwd || isShown(cwd) ? [] : [{ type: 'link', target: cwd, to: real } as const]),
  ];
}

function blankMount(target: string, at: number): Mount {
  if (lstatSync(target, { throwIfNoEntry: false })?.isDirectory() === true)
    return { type: 'empty-directory', target };
  return { type: at < MAX_BLANK_FILES ? 'blank-file' : 'empty-file', target };
}

/** Each takes an open file. */
const MAX_BLANK_FILES = 64;

function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

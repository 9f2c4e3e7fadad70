import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readlinkSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { closeSync } from 'node:fs';
import { explainStartFailure, PolypodError, tryOrUndefined } from '../../base/index.ts';
import type { Sandbox, SandboxedCommand } from '../tool.ts';

/** What a probe found missing; empty if the sandbox holds. */
export type SandboxGap = string;

/** Thrown if the sandbox could not be created; contains the output of bubblewrap. */
export class SandboxStartError extends Error {}

/**
 * Runs a command in the sandbox that tries to escape: can it see processes, sockets and settings of the host,
 * can it reach the network, does it have capabilities? A sandbox that starts does not necessarily hold.
 */
export async function probe(
  sandbox: Sandbox,
  {
    cwd,
    env,
    shell,
  }: { readonly cwd: string; readonly env: Readonly<Record<string, string>>; readonly shell: string },
): Promise<readonly SandboxGap[]> {
  const directory = mkdtempSync(join(tmpdir(), 'polypod-probe-'));
  const socket = join(directory, 'canary.sock');
  const unix = createServer((link) => link.destroy());
  const tcp = createServer((link) => link.destroy());
  try {
    await listening((ready) => unix.listen(socket, ready));
    await listening((ready) => tcp.listen(0, '127.0.0.1', ready));
    const address = tcp.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const script = scriptFor({ socket, port, namespaces: ownNamespaces() });
    const lines = await output(sandbox, { cwd, env, shell, script });
    if (!lines.includes('done'))
      throw new SandboxStartError(lines.join('\n') || 'the command did not run to its end');
    return lines.filter((line) => line !== 'done' && line !== '');
  } finally {
    unix.close();
    tcp.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

interface Canaries {
  readonly socket: string;
  readonly port: number;
  /** Namespace ids such as `pid:[4026531836]`: those of this process must differ from those inside. */
  readonly namespaces: readonly string[];
}

/**
 * Returns a script that prints a line for everything that should be impossible. Without /proc there is nothing
 * to check there.
 */
function scriptFor({ socket, port, namespaces }: Canaries): string {
  const echo = (text: string) => `echo '${text}'`;
  return [
    `[ -e '${socket.replaceAll("'", "'\\''")}' ] && ${echo('a socket of the host is visible')}`,
    `[ -d /proc/${process.pid}/root ] && grep -qs "^NSpid:.*[[:space:]]${process.pid}$" /proc/${process.pid}/status && [ "$(readlink /proc/self/ns/pid)" = '${namespaces[0] ?? ''}' ] && ${echo('processes of the host are visible')}`,
    '[ -w /proc/sys/kernel/hostname ] && ' + echo('kernel settings are writable'),
    ...namespaces.map(
      (name) =>
        `[ "$(readlink /proc/self/ns/${name.split(':')[0] ?? ''} 2>/dev/null)" = '${name}' ] && ${echo(`it shares the ${name.split(':')[0] ?? ''} namespace of the host`)}`,
    ),
    'if [ -r /proc/self/status ]; then',
    `grep -qs "^CapEff:[[:space:]]*0*$" /proc/self/status || ${echo('it has capabilities')}`,
    `grep -qs "^NoNewPrivs:[[:space:]]*1$" /proc/self/status || ${echo('it can gain rights')}`,
    'fi',
    `[ -r /etc/shadow ] && ${echo('/etc/shadow is readable')}`,
    `[ -n "$BASH_VERSION" ] && (exec 3<>/dev/tcp/127.0.0.1/${port}) 2>/dev/null && ${echo('it reaches the network')}`,
    'echo done',
  ].join('\n');
}

function ownNamespaces(): readonly string[] {
  return ['pid', 'net', 'ipc', 'uts', 'mnt', 'user'].flatMap(
    (name) => tryOrUndefined(() => readlinkSync(`/proc/self/ns/${name}`)) ?? [],
  );
}

async function output(
  sandbox: Sandbox,
  {
    cwd,
    env,
    shell,
    script,
  }: {
    readonly cwd: string;
    readonly env: Readonly<Record<string, string>>;
    readonly shell: string;
    readonly script: string;
  },
): Promise<readonly string[]> {
  const prepared = await sandbox.prepare({
    program: shell,
    args: ['-c', script],
    cwd,
    env,
    text: '',
    approved: false,
    scratch: '',
  });
  const child = spawn(prepared.program, prepared.args, {
    env: prepared.env,
    cwd: '/',
    stdio: ['ignore', 'pipe', 'pipe', ...prepared.descriptors],
    timeout: PROBE_MS,
    killSignal: 'SIGKILL',
  });
  for (const fd of prepared.descriptors) closeSync(fd);
  const [code, stdout, stderr] = await ended(child, prepared);
  if (code !== 0)
    throw new SandboxStartError(stderr.trim() || stdout.trim() || `bubblewrap exited with ${String(code)}`);
  return stdout.trim().split('\n');
}

async function ended(
  child: ChildProcess,
  { program, env }: Pick<SandboxedCommand, 'program' | 'env'>,
): Promise<readonly [number | null, string, string]> {
  let [stdout, stderr] = ['', ''];
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.on('error', (thrown) =>
      reject(new SandboxStartError(explainStartFailure({ program, cwd: '/', env }, thrown).problem)),
    );
    child.on('close', (code) => resolve([code, stdout, stderr]));
  });
}

async function listening(listen: (ready: () => void) => unknown): Promise<void> {
  await new Promise<void>((resolve) => {
    listen(resolve);
  });
}

/** Returns why the sandbox cannot be created, and what to do about it. */
export function sandboxUnavailable(problem: string): PolypodError {
  const [line = ''] = problem.trim().split('\n');
  const hint =
    NEXT_STEPS.find(([expression]) => expression.test(problem))?.[1] ??
    'Check the installed package bubblewrap.';
  return new PolypodError('denied', `The sandbox does not work on this machine (${line}). ${hint}`);
}

const NEXT_STEPS: readonly (readonly [RegExp, string])[] = [
  [
    /ENOSPC|No space left/i,
    'User namespaces are used up or switched off: raise /proc/sys/user/max_user_namespaces.',
  ],
  [
    /mount proc/i,
    'The container hides parts of /proc: start it with its /proc unmasked (docker run --security-opt systempaths=unconfined), or without the sandbox.',
  ],
  [
    /namespace|uid map|permission|not permitted/i,
    'The system does not allow programs to create namespaces: set kernel.unprivileged_userns_clone=1, on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0, or in a container allow them (docker run --security-opt seccomp=unconfined).',
  ],
  [/unknown option/i, 'The installed bubblewrap is too old: version 0.5 or newer is needed.'],
];

const PROBE_MS = 10_000;

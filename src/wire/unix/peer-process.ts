import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { type AgentCommand, CALL_MARK_VARIABLE, tryOrUndefined } from '../../base/index.ts';

/** The process at the other end of a Unix socket. */
export interface PeerProcess {
  readonly pid: number;
  readonly uid: number;
}

/**
 * Returns why a process is treated as one of an agent's command, or undefined. A process cannot leave its
 * namespace, so that check is reliable; a malicious command can change its ancestors, session and environment
 * marker.
 */
export function agentProcessReason(
  { pid, uid }: PeerProcess,
  commands: readonly AgentCommand[],
): string | undefined {
  if (pid === process.pid) return undefined;
  if (pid === 0) return 'its process cannot be determined';
  const line = ancestry(pid);
  if (line.length === 0) return 'its process has ended';
  const ownNamespace = pidNamespace('self');
  const namespace = pidNamespace(pid);
  // A process can hide from other processes of its user, but processes of root are always hidden.
  if (namespace === undefined && uid !== 0) return 'its process cannot be examined';
  if (namespace !== undefined && namespace !== ownNamespace) return 'it runs in another process namespace';
  const roots = new Set(commands.map(({ root }) => root));
  if (line.some((ancestor) => roots.has(ancestor.pid) || roots.has(ancestor.session)))
    return 'it was started by a command of an agent';
  const ownMarkers = agentMarkers('self');
  const isMarked = line.some((ancestor) =>
    agentMarkers(ancestor.pid).some((mark) => !ownMarkers.includes(mark)),
  );
  return isMarked ? 'it was started by a command of an agent' : undefined;
}

/**
 * Returns whether a process of an agent's command has a connected Unix socket, for systems that do not report
 * the peer.
 */
export function agentHasConnection(commands: readonly AgentCommand[]): boolean {
  const connected = connectedInodes();
  return processIds().some((pid) => {
    const uid =
      tryOrUndefined(() => Number(/^Uid:\s+(\d+)/m.exec(readText(`/proc/${pid}/status`))?.[1])) ?? 0;
    if (pid === process.pid || agentProcessReason({ pid, uid }, commands) === undefined) return false;
    const targets = readThread(pid, (directory) =>
      readdirSync(`${directory}/fd`).map(
        (name) => tryOrUndefined(() => readlinkSync(`${directory}/fd/${name}`)) ?? '',
      ),
    );
    // A process that cannot be examined may have one.
    if (targets === undefined) return uid === process.getuid?.();
    return targets.some((target) => connected.has(socketInode(target) ?? ''));
  });
}

/** Returns the inodes of all Unix sockets of this network namespace. */
export function unixInodes(): ReadonlySet<string> {
  return new Set(unixSockets().map(({ inode }) => inode));
}

/** Returns the number in `socket:[123]`. */
export function socketInode(target: string): string | undefined {
  return /^socket:\[(\d+)\]$/.exec(target)?.[1];
}

function connectedInodes(): ReadonlySet<string> {
  return new Set(unixSockets().flatMap(({ inode, state }) => (state === CONNECTED ? [inode] : [])));
}

const CONNECTED = '03';

function unixSockets(): readonly { readonly inode: string; readonly state: string }[] {
  const [, ...lines] = (tryOrUndefined(() => readText('/proc/self/net/unix')) ?? '').split('\n');
  return lines.map((line) => {
    const [, , , , , state = '', inode = ''] = line.trim().split(/\s+/);
    return { inode, state };
  });
}

interface Ancestor {
  readonly pid: number;
  readonly session: number;
}

/** Returns the process and its ancestors, up to this process or to init. */
function ancestry(pid: number): readonly Ancestor[] {
  const line: Ancestor[] = [];
  for (let current = pid; current > 1 && current !== process.pid && line.length < MAX_DEPTH; ) {
    const stat = tryOrUndefined(() => readText(`/proc/${current}/stat`));
    if (stat === undefined) break;
    const [, parent, , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    line.push({ pid: current, session: Number(session) });
    current = Number(parent);
  }
  return line;
}

function pidNamespace(pid: number | 'self'): string | undefined {
  return readThread(pid, (directory) => [readlinkSync(`${directory}/ns/pid`)])?.[0];
}

function agentMarkers(pid: number | 'self'): readonly string[] {
  const environment = readThread(pid, (directory) => readText(`${directory}/environ`).split('\0')) ?? [];
  const entry = environment.find((variable) => variable.startsWith(`${CALL_MARK_VARIABLE}=`));
  return entry?.slice(CALL_MARK_VARIABLE.length + 1).split(',') ?? [];
}

/**
 * Reads something of a process: from its main thread, or from another if the main thread has ended. Undefined if
 * none can be read.
 */
function readThread<T>(
  pid: number | 'self',
  read: (directory: string) => readonly T[],
): readonly T[] | undefined {
  const main = tryOrUndefined(() => read(`/proc/${pid}`));
  if (main !== undefined && main.length > 0) return main;
  const threads = tryOrUndefined(() => readdirSync(`/proc/${pid}/task`)) ?? [];
  for (const thread of threads) {
    const other = tryOrUndefined(() => read(`/proc/${pid}/task/${thread}`));
    if (other !== undefined && other.length > 0) return other;
  }
  return main;
}

function processIds(): readonly number[] {
  return (tryOrUndefined(() => readdirSync('/proc')) ?? []).map(Number).filter((pid) => pid > 1);
}

function readText(path: string): string {
  return readFileSync(path, 'latin1');
}

const MAX_DEPTH = 1_000;

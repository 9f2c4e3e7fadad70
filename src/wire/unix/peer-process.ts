import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { type AgentCommand, CALL_MARK } from '../../base/index.ts';

/** What is known of the process at the other end of a Unix socket. */
export interface PeerProcess {
  readonly pid: number;
  readonly uid: number;
}

/**
 * Why a process must count as one of an agent's command; undefined if it does not. A process namespace cannot be left, so
 * that it tells for certain; ancestors, session and the mark in the environment can be shed by a command that wants to.
 */
export function agentTrace({ pid, uid }: PeerProcess, commands: readonly AgentCommand[]): string | undefined {
  if (pid === process.pid) return undefined;
  if (pid === 0) return 'its process cannot be determined';
  const line = lineage(pid);
  if (line.length === 0) return 'its process has ended';
  const own = namespaceOf('self');
  const namespace = namespaceOf(pid);
  // A process can hide from others of its user, but root's are hidden anyway.
  if (namespace === undefined && uid !== 0) return 'its process cannot be examined';
  if (namespace !== undefined && namespace !== own) return 'it runs in another process namespace';
  const roots = new Set(commands.map(({ root }) => root));
  if (line.some((ancestor) => roots.has(ancestor.pid) || roots.has(ancestor.session)))
    return 'it was started by a command of an agent';
  const ours = marksOf('self');
  const isMarked = line.some((ancestor) => marksOf(ancestor.pid).some((mark) => !ours.includes(mark)));
  return isMarked ? 'it was started by a command of an agent' : undefined;
}

/** Whether a process of an agent's command has a connected Unix socket: for systems that do not tell who our peer is. */
export function agentHasConnection(commands: readonly AgentCommand[]): boolean {
  const connected = connectedInodes();
  return processIds().some((pid) => {
    const uid = attempt(() => Number(/^Uid:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1])) ?? 0;
    if (pid === process.pid || agentTrace({ pid, uid }, commands) === undefined) return false;
    const descriptors = attempt(() => readdirSync(`/proc/${pid}/fd`));
    // What cannot be looked at may have one.
    if (descriptors === undefined) return uid === process.getuid?.();
    return descriptors.some((descriptor) => {
      const target = attempt(() => readlinkSync(`/proc/${pid}/fd/${descriptor}`)) ?? '';
      return connected.has(inodeIn(target) ?? '');
    });
  });
}

/** The inodes of all Unix sockets of our network namespace. */
export function unixInodes(): ReadonlySet<string> {
  return new Set(unixSockets().map(({ inode }) => inode));
}

/** The number in `socket:[123]`. */
export function inodeIn(target: string): string | undefined {
  return /^socket:\[(\d+)\]$/.exec(target)?.[1];
}

function connectedInodes(): ReadonlySet<string> {
  return new Set(unixSockets().flatMap(({ inode, state }) => (state === CONNECTED ? [inode] : [])));
}

const CONNECTED = '03';

function unixSockets(): readonly { readonly inode: string; readonly state: string }[] {
  const [, ...lines] = (attempt(() => read('/proc/self/net/unix')) ?? '').split('\n');
  return lines.map((line) => {
    const [, , , , , state = '', inode = ''] = line.trim().split(/\s+/);
    return { inode, state };
  });
}

interface Ancestor {
  readonly pid: number;
  readonly session: number;
}

/** The process and its ancestors, up to ours or to the first of the system. */
function lineage(pid: number): readonly Ancestor[] {
  const line: Ancestor[] = [];
  for (let next = pid; next > 1 && next !== process.pid && line.length < DEEPEST; ) {
    const stat = attempt(() => read(`/proc/${next}/stat`));
    if (stat === undefined) break;
    const [, parent, , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    line.push({ pid: next, session: Number(session) });
    next = Number(parent);
  }
  return line;
}

function namespaceOf(pid: number | 'self'): string | undefined {
  return attempt(() => readlinkSync(`/proc/${pid}/ns/pid`));
}

function marksOf(pid: number | 'self'): readonly string[] {
  const environment = (attempt(() => read(`/proc/${pid}/environ`)) ?? '').split('\0');
  const entry = environment.find((variable) => variable.startsWith(`${CALL_MARK}=`));
  return entry?.slice(CALL_MARK.length + 1).split(',') ?? [];
}

function processIds(): readonly number[] {
  return (attempt(() => readdirSync('/proc')) ?? []).map(Number).filter((pid) => pid > 1);
}

function read(path: string): string {
  return readFileSync(path, 'latin1');
}

/** Processes end while we look at them, and some may not be looked at. */
function attempt<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}

const DEEPEST = 1_000;

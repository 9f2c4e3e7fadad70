import { once } from 'node:events';
import { chmodSync, lstatSync, mkdirSync, unlinkSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { messageOf, PolypodError, systemCodeOf } from '../../base/index.ts';
import { socketPeers } from './socket-peers.ts';

/** The system's limit for socket paths in bytes, without the terminating zero. */
export const MAX_SOCKET_PATH_BYTES = process.platform === 'darwin' ? 103 : 107;

/** Connects to a Unix socket; returns undefined if nothing listens there. */
export async function connectUnix(path: string): Promise<Socket | undefined> {
  const socket = connect({ path, allowHalfOpen: true });
  try {
    await once(socket, 'connect');
    return socket;
  } catch (thrown) {
    socket.destroy();
    const code = systemCodeOf(thrown) ?? '';
    if (NOT_LISTENING.has(code)) return undefined;
    const problem = code === 'EACCES' ? 'it belongs to another user' : messageOf(thrown);
    throw new PolypodError('denied', `cannot reach ${path}: ${problem}`, { cause: thrown });
  }
}

const NOT_LISTENING: ReadonlySet<string> = new Set(['ENOENT', 'ECONNREFUSED', 'ENOTDIR']);

export interface UnixListenOptions {
  /** Encodes the reason for a refused client as one line in the protocol of the socket. */
  readonly refusal?: (message: string) => string;
}

/**
 * Listens on a path that only this user can access and that processes of agents' commands may not use. Clients
 * may end their side first. A stale socket is removed; a socket in use, or a file that is not a socket, is an
 * error and stays.
 */
export async function listenUnix(
  path: string,
  accept: (socket: Socket) => void,
  { refusal = () => '' }: UnixListenOptions = {},
): Promise<Server> {
  const bytes = Buffer.byteLength(path);
  if (bytes > MAX_SOCKET_PATH_BYTES)
    throw new PolypodError(
      'bad-request',
      `${path} is too long for a socket: ${bytes} bytes, of which the system allows ${MAX_SOCKET_PATH_BYTES}. Choose a shorter directory.`,
    );
  ensurePrivateDirectory(dirname(path));
  await removeStaleSocket(path);
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    // A socket error closes the socket, which is all its server needs; without a listener it would end the
    // process.
    socket.on('error', () => socket.destroy());
    if (!socketPeers.mustExamine) return accept(socket);
    void socketPeers.examine(socket, path, server).then((reason) => {
      if (reason !== undefined) refuse(socket, refusal(refusalText(reason)));
      else if (!server.listening) socket.destroy();
      else if (!socket.destroyed) accept(socket);
    });
  });
  try {
    bind(server, path);
    await once(server, 'listening');
    chmodSync(path, 0o600);
  } catch (thrown) {
    server.close();
    throw new PolypodError('denied', `cannot listen on ${path}: ${messageOf(thrown)}`, { cause: thrown });
  }
  return server;
}

function refusalText(reason: string): string {
  return `connection refused: ${reason}. Programs that an agent runs may not control Polypod. To allow it, set sockets: { allow_agent_processes: true } in config.yaml.`;
}

/** Sends the reason and closes without waiting for the client to read it. */
function refuse(socket: Socket, line: string): void {
  // Read what the client sends meanwhile, otherwise it would see an error instead of the reason.
  socket.resume();
  socket.end(line);
  const late = setTimeout(() => socket.destroy(), REFUSAL_MS);
  socket.once('close', () => clearTimeout(late));
}

const REFUSAL_MS = 1_000;

/** Creates a directory that only this user can access, or checks that it is one. */
export function ensurePrivateDirectory(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const { uid, mode } = lstatSync(directory);
  if (process.getuid !== undefined && uid !== process.getuid())
    throw new PolypodError('denied', `${directory} belongs to another user: choose a directory of your own`);
  if ((mode & 0o077) !== 0)
    throw new PolypodError(
      'denied',
      `${directory} is accessible to others: run chmod 700 on it, or choose another directory for sockets`,
    );
}

async function removeStaleSocket(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket()) throw new PolypodError('conflict', `${path} already exists and is not a socket`);
  const live = await connectUnix(path);
  live?.destroy();
  if (live !== undefined)
    throw new PolypodError('conflict', `another process listens on ${path}: end it first`);
  unlinkSync(path);
}

/** Creates the socket with its final permissions: others could connect before a later chmod. */
function bind(server: Server, path: string): void {
  // A worker thread cannot set the umask; there, the directory protects the socket until its permissions are
  // set.
  const mask = isMainThread ? process.umask(0o177) : undefined;
  try {
    // More clients than the default backlog of 511 may connect at once.
    server.listen({ path, backlog: 4_096 });
  } finally {
    if (mask !== undefined) process.umask(mask);
  }
}

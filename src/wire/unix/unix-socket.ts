import { once } from 'node:events';
import { chmodSync, lstatSync, mkdirSync, unlinkSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { messageOf, PolypodError, systemCodeOf } from '../../base/index.ts';
import { socketPeers } from './socket-peers.ts';

/** The kernel's limit for the path of a socket, in bytes, without the zero at the end. */
export const LONGEST_SOCKET_PATH = process.platform === 'darwin' ? 103 : 107;

/** Connects to a Unix socket; undefined when nobody listens there. */
export async function connectUnix(path: string): Promise<Socket | undefined> {
  const socket = connect({ path, allowHalfOpen: true });
  try {
    await once(socket, 'connect');
    return socket;
  } catch (thrown) {
    socket.destroy();
    const code = systemCodeOf(thrown) ?? '';
    if (NOBODY.has(code)) return undefined;
    const problem = code === 'EACCES' ? 'it belongs to another user' : messageOf(thrown);
    throw new PolypodError('denied', `cannot reach ${path}: ${problem}`, { cause: thrown });
  }
}

const NOBODY: ReadonlySet<string> = new Set(['ENOENT', 'ECONNREFUSED', 'ENOTDIR']);

export interface UnixListenOptions {
  /** What a client is sent whose connection is refused, as one line in the protocol of the socket. */
  readonly refusal?: (message: string) => string;
}

/**
 * Listens on a path that only this user can reach, and that processes of agents' commands may not use, for clients that may end their side first. A socket that nobody listens on any more is taken away first; one in use,
 * and anything that is no socket, is refused and left alone.
 */
export async function listenUnix(
  path: string,
  accept: (socket: Socket) => void,
  { refusal = () => '' }: UnixListenOptions = {},
): Promise<Server> {
  const bytes = Buffer.byteLength(path);
  if (bytes > LONGEST_SOCKET_PATH)
    throw new PolypodError(
      'bad-request',
      `${path} is too long for a socket: ${bytes} bytes, of which the system allows ${LONGEST_SOCKET_PATH}. Choose a shorter directory.`,
    );
  makePrivate(dirname(path));
  await takeAwayStale(path);
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    // What breaks a socket closes it, which is what its server has to know; unheard it would end the process.
    socket.on('error', () => socket.destroy());
    if (!socketPeers.isAlert) return accept(socket);
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

/** Sends the reason and closes; a client that does not read it is not waited for. */
function refuse(socket: Socket, line: string): void {
  // What the client sends meanwhile is read, or it would see an error instead of the reason.
  socket.resume();
  socket.end(line);
  const late = setTimeout(() => socket.destroy(), REFUSAL_MS);
  socket.once('close', () => clearTimeout(late));
}

const REFUSAL_MS = 1_000;

/** Makes a directory that nobody else may look into, or makes sure that it is one. */
export function makePrivate(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const { uid, mode } = lstatSync(directory);
  if (process.getuid !== undefined && uid !== process.getuid())
    throw new PolypodError('denied', `${directory} belongs to another user: choose a directory of your own`);
  if ((mode & 0o077) !== 0)
    throw new PolypodError(
      'denied',
      `others may look into ${directory}: run chmod 700 on it, or choose another directory for sockets`,
    );
}

async function takeAwayStale(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket()) throw new PolypodError('conflict', `${path} is there already, and is no socket`);
  const live = await connectUnix(path);
  live?.destroy();
  if (live !== undefined)
    throw new PolypodError('conflict', `another process listens on ${path}: end it first`);
  unlinkSync(path);
}

/** The socket is made with its final rights: between making it and changing them others could connect. */
function bind(server: Server, path: string): void {
  // A thread cannot set the mask; there the directory alone protects it until the rights are set.
  const mask = isMainThread ? process.umask(0o177) : undefined;
  try {
    // More clients than the usual 511 may come at once.
    server.listen({ path, backlog: 4_096 });
  } finally {
    if (mask !== undefined) process.umask(mask);
  }
}

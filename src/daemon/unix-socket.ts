import { once } from 'node:events';
import { chmodSync, lstatSync, mkdirSync, unlinkSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { messageOf, PolypodError, systemCodeOf } from '../base/index.ts';

/** The kernel's limit, without the zero at the end. */
const LONGEST_PATH = process.platform === 'darwin' ? 103 : 107;

/** Connects to a socket; undefined when nobody listens there. */
export async function connectTo(path: string): Promise<Socket | undefined> {
  const socket = connect(path);
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

const NOBODY: ReadonlySet<string> = new Set(['ENOENT', 'ECONNREFUSED', 'ENOTSOCK', 'ENOTDIR']);

/** Whether a socket is in use, was left behind by a process that is gone, or is not there. */
export async function lookAtSocket(path: string): Promise<'live' | 'stale' | 'none'> {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return 'none';
  const socket = await connectTo(path);
  socket?.destroy();
  return socket === undefined ? 'stale' : 'live';
}

/** Listens on a path that only this user can reach. A socket that nobody listens on is taken away first; one in use is refused. */
export async function listenOn(path: string, accept: (socket: Socket) => void): Promise<Server> {
  if (Buffer.byteLength(path) > LONGEST_PATH)
    throw new PolypodError(
      'bad-request',
      `the socket ${path} cannot be made: a path may have ${LONGEST_PATH} bytes. Set POLYPOD_RUNTIME_DIR to a shorter directory.`,
    );
  makePrivate(dirname(path));
  const found = await lookAtSocket(path);
  if (found === 'live') throw new PolypodError('conflict', `another process listens on ${path}: end it first`);
  if (found === 'stale') unlinkSync(path);
  const server = createServer({ allowHalfOpen: true }, accept);
  try {
    bound(server, path);
    await once(server, 'listening');
    chmodSync(path, 0o600);
  } catch (thrown) {
    server.close();
    throw new PolypodError('denied', `cannot listen on ${path}: ${messageOf(thrown)}`, { cause: thrown });
  }
  return server;
}

/** Makes a directory that nobody else may look into, or makes sure that it is one. */
export function makePrivate(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const { uid, mode } = lstatSync(directory);
  if (process.getuid !== undefined && uid !== process.getuid())
    throw new PolypodError('denied', `${directory} belongs to another user: set POLYPOD_RUNTIME_DIR to one of yours`);
  if ((mode & 0o077) !== 0) chmodSync(directory, 0o700);
}

/** The socket is made with its final rights: between making it and changing them others could connect. */
function bound(server: Server, path: string): void {
  // A thread cannot set the mask; there the directory alone protects it.
  const mask = isMainThread ? process.umask(0o177) : undefined;
  try {
    server.listen(path);
  } finally {
    if (mask !== undefined) process.umask(mask);
  }
}

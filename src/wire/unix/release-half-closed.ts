import type { Socket } from 'node:net';

/**
 * Destroys a socket whose peer has ended its writing side, as soon as the peer has closed the reading side too.
 * Node reports both cases in the same way, as the end of the input. An empty write tells them apart: it does
 * nothing while the peer may read, and fails with EPIPE otherwise.
 */
export function releaseHalfClosed(socket: Socket, checkEveryMs = CHECK_EVERY_MS): void {
  const check = (): void => {
    // Pending writes fail by themselves.
    if (socket.writable && socket.writableLength === 0) socket.write(NOTHING);
  };
  const timer = setInterval(check, checkEveryMs).unref();
  socket.once('close', () => clearInterval(timer));
  check();
}

const CHECK_EVERY_MS = 1_000;
const NOTHING = Buffer.alloc(0);

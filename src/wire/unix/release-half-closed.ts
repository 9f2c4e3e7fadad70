import type { Socket } from 'node:net';

/**
 * Destroys a socket whose peer has ended its side, once the peer has closed the other side too. Node reports a peer that
 * still reads and one that is gone in the same way: as the end of the input. A write of no bytes tells them apart. It does
 * nothing as long as the peer may read, and fails with EPIPE if it cannot.
 */
export function releaseHalfClosed(socket: Socket, checkEveryMs = CHECK_EVERY_MS): void {
  const check = (): void => {
    // Bytes that wait to be written fail by themselves.
    if (socket.writable && socket.writableLength === 0) socket.write(NOTHING);
  };
  const timer = setInterval(check, checkEveryMs).unref();
  socket.once('close', () => clearInterval(timer));
  check();
}

const CHECK_EVERY_MS = 1_000;
const NOTHING = Buffer.alloc(0);

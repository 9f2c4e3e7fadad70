import type { Server } from 'node:https';
import type { Socket } from 'node:net';

/** The first byte of whoever begins to speak TLS: a record of the handshake. */
const HANDSHAKE = 0x16;

/**
 * Looks at the first byte of each connection before TLS does: who speaks plain HTTP to a port for HTTPS is handed to `refuse`,
 * and would otherwise only be hung up on.
 */
export function lookBeforeTls(server: Server, silenceMs: number, refuse: (socket: Socket) => void): void {
  const listeners = server.listeners('connection');
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    const hangUp = (): void => void socket.destroy();
    socket.on('error', hangUp);
    socket.on('end', hangUp);
    socket.setTimeout(silenceMs, hangUp);
    socket.once('data', (bytes: Buffer) => {
      socket.setTimeout(0);
      socket.off('timeout', hangUp);
      if (bytes[0] !== HANDSHAKE) {
        refuse(socket);
        return;
      }
      socket.off('error', hangUp);
      socket.off('end', hangUp);
      socket.pause();
      socket.unshift(bytes);
      for (const listener of listeners) Reflect.apply(listener, server, [socket]);
    });
  });
}

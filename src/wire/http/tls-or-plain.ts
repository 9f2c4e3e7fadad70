import type { Server, Socket } from 'node:net';
import { connectionId } from './connection-table.ts';

/** The first byte of whoever begins to speak TLS: a record of the handshake. */
const HANDSHAKE = 0x16;

export interface BeforeTls {
  /** From the connection to the end of the handshake. */
  readonly handshakeMs: number;
  /** Whether the connection may begin a handshake. */
  readonly admit: (socket: Socket) => boolean;
  /** Answers a client that speaks plain HTTP, and closes the connection. */
  readonly refusePlain: (socket: Socket) => void;
  /** The handshake is done: this is the connection as TLS. */
  readonly onSecured: (socket: Socket) => void;
  /** The connection did not finish its handshake in time. */
  readonly onStalled: (socket: Socket) => void;
}

/**
 * Looks at the first byte of each connection before TLS does: a client that speaks plain HTTP to a port for HTTPS is told so.
 * Node's own limit for handshakes does not cover the time before the first byte, so there is one limit for both.
 */
export function lookBeforeTls(server: Server, options: BeforeTls): void {
  const listeners = server.listeners('connection');
  const deadlines = new Map<string, NodeJS.Timeout>();
  server.removeAllListeners('connection');
  server.on('secureConnection', (socket: Socket) => {
    stop(connectionId(socket));
    options.onSecured(socket);
  });
  const stop = (id: string | undefined): void => {
    clearTimeout(deadlines.get(id ?? ''));
    deadlines.delete(id ?? '');
  };
  server.on('connection', (socket: Socket) => {
    const id = connectionId(socket);
    const hangUp = (): void => void socket.destroy();
    socket.on('error', hangUp);
    if (id === undefined || socket.destroyed || !options.admit(socket)) {
      hangUp();
      return;
    }
    const deadline = setTimeout(() => {
      options.onStalled(socket);
      hangUp();
    }, options.handshakeMs);
    deadlines.set(id, deadline);
    socket.once('close', () => {
      if (deadlines.get(id) === deadline) stop(id);
    });
    socket.on('end', hangUp);
    socket.once('data', (bytes: Buffer) => {
      if (bytes[0] !== HANDSHAKE) {
        stop(id);
        options.refusePlain(socket);
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

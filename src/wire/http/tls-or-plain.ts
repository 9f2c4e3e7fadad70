import type { Server, Socket } from 'node:net';
import { connectionId } from './connection-table.ts';

/** The first byte of a TLS connection: a handshake record. */
const HANDSHAKE = 0x16;

export interface TlsDetectionOptions {
  /** Time limit from the connection to the end of the handshake. */
  readonly handshakeMs: number;
  /** Returns whether the connection may start a handshake. */
  readonly admit: (socket: Socket) => boolean;
  /** Answers a client that speaks plain HTTP, and closes the connection. */
  readonly refusePlain: (socket: Socket) => void;
  /** Called with the TLS socket after the handshake. */
  readonly onSecured: (socket: Socket) => void;
  /** Called if the handshake did not finish in time. */
  readonly onStalled: (socket: Socket) => void;
}

/**
 * Inspects the first byte of each connection before TLS does, so that a client that uses plain HTTP on an HTTPS
 * port gets an explanation. Node's handshake timeout does not cover the time before the first byte, so one
 * timeout covers both.
 */
export function detectPlainHttp(server: Server, options: TlsDetectionOptions): void {
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

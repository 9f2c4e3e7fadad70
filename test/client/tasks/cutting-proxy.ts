import { connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface CuttingProxy {
  readonly url: string;
  /** Breaks all open connections. */
  cut(): void;
  /** Breaks each of the next connections after this many bytes from the server; later ones are not broken. */
  cutAfter(bytes: readonly number[]): void;
  /** The number of accepted connections. */
  readonly connections: number;
}

/** A proxy between a client and a server that may change its port; it breaks connections at arbitrary points. */
export async function cuttingProxy(target: () => number): Promise<CuttingProxy> {
  const sockets = new Set<Socket>();
  let planned: number[] = [];
  let connections = 0;
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  };
  const server = createServer((client) => {
    connections += 1;
    let left = planned.shift() ?? Number.POSITIVE_INFINITY;
    const upstream = connect(target(), '127.0.0.1');
    keep(client);
    keep(upstream);
    client.pipe(upstream);
    upstream.on('data', (bytes: Buffer) => {
      client.write(bytes.subarray(0, Math.min(left, bytes.length)));
      left -= bytes.length;
      // Data already written still arrives, then the connection closes in the middle of a message.
      if (left <= 0) client.destroySoon();
    });
    upstream.on('close', () => client.destroy());
    client.on('close', () => upstream.destroy());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(() => {
    cut();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    cut,
    cutAfter: (bytes) => {
      planned = [...bytes];
    },
    get connections() {
      return connections;
    },
  };
}

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { messageOf, PolypodError } from '../base/index.ts';

/** A server that only this machine can reach. */
export interface LoopbackServer {
  /** Without a path: `http://127.0.0.1:<port>`. */
  readonly url: string;
  readonly port: number;
  /** Breaks open connections and frees the port. */
  close(): Promise<void>;
}

/** Serves on 127.0.0.1; port 0 takes a free one. */
export async function listenOnLoopback(
  handle: (incoming: IncomingMessage, response: ServerResponse) => Promise<void>,
  wantedPort: number,
): Promise<LoopbackServer> {
  const server = createServer((incoming, response) => {
    // A client that leaves while it still sends its request is no failure of the server.
    handle(incoming, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(notListening(wantedPort, error)));
    server.listen(wantedPort, '127.0.0.1', resolve);
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : wantedPort;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    close: async () =>
      await new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function notListening(port: number, thrown: unknown): PolypodError {
  const why = `cannot listen on 127.0.0.1:${port}: ${messageOf(thrown)}; choose another port, or 0 for a free one`;
  return new PolypodError('conflict', why, { cause: thrown });
}

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { messageOf, PolypodError } from '../base/index.ts';

/** A server that listens on the loopback interface only. */
export interface LoopbackServer {
  /** Without a path: `http://127.0.0.1:<port>`. */
  readonly url: string;
  readonly port: number;
  /** Closes open connections and frees the port. */
  close(): Promise<void>;
}

/** Listens on 127.0.0.1; port 0 selects a free port. */
export async function listenOnLoopback(
  handle: (incoming: IncomingMessage, response: ServerResponse) => Promise<void>,
  requestedPort: number,
): Promise<LoopbackServer> {
  const server = createServer((incoming, response) => {
    // A client may disconnect while it sends its request.
    handle(incoming, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(listenError(requestedPort, error)));
    server.listen(requestedPort, '127.0.0.1', resolve);
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : requestedPort;
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

function listenError(port: number, thrown: unknown): PolypodError {
  const message = `cannot listen on 127.0.0.1:${port}: ${messageOf(thrown)}; choose another port, or 0 for a free one`;
  return new PolypodError('conflict', message, { cause: thrown });
}

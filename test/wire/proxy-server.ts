import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { type Certificate } from '../protocols/tasks/certificate.ts';

export interface ProxyServer {
  readonly url: string;
  readonly port: number;
  /** The request lines that it received: `CONNECT host:443`, `POST http://host/path`. */
  readonly requests: readonly string[];
  /** How many connections clients have opened. */
  readonly connections: () => number;
}

export interface ProxyServerOptions {
  /** The required credentials, as `user:password`. */
  readonly credentials?: string;
  /** Answers every CONNECT with this status. */
  readonly refuseWith?: number;
  /** Accepts CONNECT requests and never answers them. */
  readonly isSilent?: boolean;
}

/**
 * A forward proxy with CONNECT and absolute-form requests. Every host name leads to this machine, and its ports are mapped
 * to those of the test's servers: `{ 'api.example.com:443': 34567 }`.
 */
export async function startProxy(
  targets: Readonly<Record<string, number>>,
  { credentials, refuseWith, isSilent = false }: ProxyServerOptions = {},
): Promise<ProxyServer> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const expected = credentials && `Basic ${Buffer.from(credentials).toString('base64')}`;
  const isRefused = ({ headers }: IncomingMessage): boolean =>
    expected !== undefined && headers['proxy-authorization'] !== expected;

  const server = createServer((incoming, response) => {
    requests.push(`${incoming.method} ${incoming.url}`);
    if (isRefused(incoming)) {
      response.writeHead(407).end('Who are you?');
      return;
    }
    passOn(incoming, response, targets);
  });
  server.on('connect', (incoming: IncomingMessage, client: Socket) => {
    requests.push(`CONNECT ${incoming.url}`);
    if (isSilent) return;
    const port = targets[incoming.url ?? ''];
    const status = isRefused(incoming) ? 407 : (refuseWith ?? (port === undefined ? 502 : 200));
    if (status !== 200 || port === undefined) {
      client.end(`HTTP/1.1 ${status} Sorry\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
    const upstream = connect(port, '127.0.0.1');
    sockets.add(upstream);
    for (const socket of [client, upstream]) socket.on('error', () => {});
    upstream.once('connect', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      client.pipe(upstream).pipe(client);
    });
  });
  server.on('connection', (socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, requests, connections: () => connections };
}

function passOn(
  incoming: IncomingMessage,
  response: ServerResponse,
  targets: Readonly<Record<string, number>>,
): void {
  const url = new URL(incoming.url ?? '');
  const { 'proxy-authorization': _, ...headers } = incoming.headers;
  const onward = request(
    {
      host: '127.0.0.1',
      port: targets[`${url.hostname}:${url.port || 80}`],
      method: incoming.method,
      path: url.pathname + url.search,
      headers,
    },
    (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    },
  );
  onward.on('error', () => response.writeHead(502).end());
  incoming.pipe(onward);
}

/** Serves HTTPS on loopback in front of a plain HTTP server. */
export async function startTlsFront(port: number, certificate: Certificate): Promise<number> {
  const server: Server = createTlsServer(certificate, (incoming, response) => {
    const { method, url: path, headers } = incoming;
    const onward = request({ host: '127.0.0.1', port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    incoming.pipe(onward);
  });
  server.on('tlsClientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

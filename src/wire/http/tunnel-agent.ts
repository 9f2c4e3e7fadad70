import type { Agent, IncomingMessage } from 'node:http';
import type { RequestOptions } from 'node:https';
import type { Duplex } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';
import type { Proxy } from './proxy.ts';
import { proxyRefusal } from './proxy-error.ts';

type Done = (error: Error | null, socket?: Duplex) => void;
/** An option of a request: aborts the tunnel while it is being opened. Node.js does not pass `signal` to agents. */
export interface TunnelSignal {
  readonly tunnelSignal?: AbortSignal;
}
/** What Node.js passes to `createConnection`: the options of the request, completed. */
type TunnelOptions = RequestOptions & ConnectionOptions & TunnelSignal;

/**
 * Creates an agent for https requests that opens a tunnel through the proxy with CONNECT and then TLS to the server itself.
 * Node.js sends CONNECT and parses the response; connections are kept alive like those of any agent.
 */
export async function createTunnelAgent(proxy: Proxy): Promise<Agent> {
  const [https, tls] = await Promise.all([import('node:https'), import('node:tls')]);
  const { request } = proxy.url.protocol === 'https:' ? https : await import('node:http');
  const createConnection = ({ path: _, tunnelSignal, ...options }: TunnelOptions, done: Done): void => {
    const target = `${bracketed(options.host ?? '')}:${options.port ?? 443}`;
    const connecting = request(proxy.url, {
      method: 'CONNECT',
      path: target,
      agent: false,
      headers: { host: target, ...(proxy.authorization && { 'proxy-authorization': proxy.authorization }) },
      ...(tunnelSignal && { signal: tunnelSignal }),
    });
    connecting.on('error', (error) => done(error));
    connecting.on('connect', (response: IncomingMessage, socket: Duplex) => {
      if (response.statusCode === 200) {
        done(null, tls.connect({ ...options, socket }));
        return;
      }
      socket.destroy();
      done(proxyRefusal(proxy, response.statusCode ?? 0, target));
    });
    connecting.end();
  };
  return Object.assign(new https.Agent({ keepAlive: true }), { createConnection });
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

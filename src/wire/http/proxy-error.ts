import { messageOf, systemCodeOf } from '../../base/index.ts';
import type { Proxy } from './proxy.ts';

/** The code of a request that the proxy refuses: it would refuse the next attempt as well. */
export const PROXY_REFUSED = 'ERR_PROXY_REFUSED';

/** The error for a proxy that answers a request itself instead of passing it on. */
export function proxyRefusal(proxy: Proxy, status: number, target: string): Error {
  const { variable } = proxy;
  const [reason, step] =
    status === 407
      ? [
          'requires a user name and password, or rejects these',
          `set ${variable} to http://USER:PASSWORD@${proxy.url.host}`,
        ]
      : [
          `refused to connect to ${target} (HTTP ${status})`,
          `allow this host in the proxy, or add it to NO_PROXY`,
        ];
  return Object.assign(new Error(`${nameOf(proxy)} ${reason}: ${step}`), {
    code: status >= 500 ? 'ERR_PROXY_FAILED' : PROXY_REFUSED,
  });
}

/** Names the proxy in errors of the connection to it; other errors stay unchanged. */
export function explainProxyError(error: Error, proxy: Proxy): Error {
  const { syscall } = error as NodeJS.ErrnoException;
  if (syscall !== 'connect' && syscall !== 'getaddrinfo') return error;
  const message = `${nameOf(proxy)} cannot be reached: ${messageOf(error)}; check ${proxy.variable}, or add the host to NO_PROXY`;
  return Object.assign(new Error(message, { cause: error }), { code: systemCodeOf(error) });
}

function nameOf({ url, variable }: Proxy): string {
  return `the proxy ${url.origin} (${variable})`;
}

import { PolypodError } from '../../base/index.ts';
import { httpTransport, type Transport } from '../../wire/index.ts';
import { type LoopbackServer, listenOnLoopback } from '../loopback.ts';
import { recordingTransport } from './record.ts';
import { relay } from './relay.ts';

export interface RecordingProxyOptions {
  /** The provider base URL that the client would otherwise use. */
  readonly target: string;
  readonly directory: string;
  /** 0, the default, selects a free port. */
  readonly port?: number;
  /**
   * Values to redact, in addition to the client's own credential headers, which are forwarded but never
   * written.
   */
  readonly secrets?: Iterable<string>;
  /** How requests reach the provider; default: directly. */
  readonly transport?: Transport;
}

/**
 * Starts a proxy that records the exchanges between an HTTP client and a provider. Closing it waits until all
 * recordings are on disk.
 */
export async function startRecordingProxy(options: RecordingProxyOptions): Promise<LoopbackServer> {
  const { directory, port = 0, secrets = [] } = options;
  const target = parseBaseUrl(options.target);
  const transport = recordingTransport(options.transport ?? httpTransport, { directory, secrets });
  const server = await listenOnLoopback(
    async (incoming, response) => await relay(transport, target, incoming, response),
    port,
  );
  return {
    url: server.url,
    port: server.port,
    async close() {
      await server.close();
      await transport.settled();
    },
  };
}

function parseBaseUrl(target: string): string {
  if (URL.canParse(target) && /^https?:$/.test(new URL(target).protocol)) return target.replace(/\/+$/, '');
  throw new PolypodError(
    'bad-request',
    `"${target}" is not a URL to record from: pass a base URL such as https://api.anthropic.com`,
  );
}

import { PolypodError } from '../../base/index.ts';
import { httpTransport } from '../../wire/index.ts';
import { type LoopbackServer, listenOnLoopback } from '../loopback.ts';
import { recordingTransport } from './record.ts';
import { relay } from './relay.ts';

export interface RecordingProxyOptions {
  /** The base URL that the client would be given without the proxy. */
  readonly target: string;
  readonly directory: string;
  /** 0, the default, takes a free one. */
  readonly port?: number;
  /** Beside those in the client's own credential headers, which are passed on and never written. */
  readonly secrets?: Iterable<string>;
}

/** Stands between any HTTP client and a provider, and records; closing it waits until all is on disk. */
export async function startRecordingProxy(options: RecordingProxyOptions): Promise<LoopbackServer> {
  const { directory, port = 0, secrets = [] } = options;
  const target = baseOf(options.target);
  const transport = recordingTransport(httpTransport, { directory, secrets });
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

function baseOf(target: string): string {
  if (URL.canParse(target) && /^https?:$/.test(new URL(target).protocol)) return target.replace(/\/+$/, '');
  throw new PolypodError(
    'bad-request',
    `"${target}" is no address to record from: give a base URL such as https://api.anthropic.com`,
  );
}

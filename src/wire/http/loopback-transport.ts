import { PolypodError } from '../../base/index.ts';
import { httpTransport, type Transport } from './client.ts';
import { isLoopbackUrl } from './loopback-url.ts';

/** A transport for this machine only: other hosts are rejected before any name lookup. */
export const loopbackTransport: Transport = async (request, watch) => {
  if (isLoopbackUrl(request.url)) return httpTransport(request, watch);
  throw new PolypodError(
    'denied',
    `cannot connect to ${new URL(request.url).host}: --offline allows connections to this machine only. ` +
      'Remove --offline, or choose a model that runs on this machine, such as one from Ollama.',
  );
};

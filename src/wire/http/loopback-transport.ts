import { PolypodError } from '../../base/index.ts';
import { httpTransport, type Transport } from './client.ts';

/** HTTP that reaches this machine only: anything else is refused before a name is looked up. */
export const loopbackTransport: Transport = async (request, watch) => {
  if (isLoopbackUrl(request.url)) return httpTransport(request, watch);
  throw new PolypodError(
    'denied',
    `cannot connect to ${new URL(request.url).host}: --offline allows connections to this machine only. ` +
      'Remove --offline, or choose a model that runs here, such as one of Ollama.',
  );
};

/** Whether an address is one of this machine's own, which no other machine can be reached by. */
export function isLoopbackUrl(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const host = new URL(url).hostname.toLowerCase().replace(/\.$/, '');
  return host === 'localhost' || host === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(host);
}

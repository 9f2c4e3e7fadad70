/** The Agent Client Protocol, version 1: editors drive sessions with JSON-RPC over stdio. */
import type { LinkStreams } from '../relayed-door.ts';
import type { AcpLinkHeader } from './link/link-header.ts';
import type { LinkContext } from './link/link-parts.ts';

export { ACP_SOCKET, type AcpNeeds } from './needs.ts';
export type { AcpLinkHeader } from './link/link-header.ts';

/** Serves one editor until its input ends. */
export async function serveAcp(
  streams: LinkStreams,
  header: AcpLinkHeader,
  context: LinkContext,
  signal: AbortSignal,
): Promise<void> {
  const { linkParts, serveAcp: serve } = await import('./link/open-link.ts');
  return serve(streams, linkParts(header, context), signal);
}

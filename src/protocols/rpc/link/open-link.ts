/** Everything that serves a link of the RPC door. It is loaded with the first link. */
export { readLinkHeader } from './link-header.ts';
export { linkParts } from './link-parts.ts';
export { serveRpc } from './serve.ts';

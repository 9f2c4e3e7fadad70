/** Everything that serves a connection of the ACP door. It is loaded with the first connection. */
export { readLinkHeader } from './link-header.ts';
export { linkParts } from './link-parts.ts';
export { serveAcp } from './serve.ts';

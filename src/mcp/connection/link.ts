import type { Client } from '@modelcontextprotocol/client';
import type { McpFailure } from './failure.ts';

/** A link to a server that has answered. */
export interface McpLink {
  readonly client: Client;
  /** The process id, if we started the server. */
  readonly pid: number | undefined;
  /** Checks whether the link still works after an error. If it does not, `onLost` has been called. */
  readonly check: (thrown: unknown) => Promise<void>;
  /** Closes the link, and ends the server if we started it. */
  readonly end: () => Promise<void>;
}

export type LinkResult = { readonly link: McpLink } | { readonly failure: McpFailure };

export interface McpLinkOptions {
  /** Called once, as soon as the server is known to be lost, and before any call fails. */
  readonly onLost: (failure: McpFailure) => void;
  /** Sends requests over HTTP. */
  readonly fetch?: typeof fetch;
  /** How long the server may take to initialize. */
  readonly timeoutMs: number;
  /** How long the server may take to exit. */
  readonly graceMs: number;
  /** Aborts the connection attempt; an established link is closed by `end`. */
  readonly signal: AbortSignal;
}

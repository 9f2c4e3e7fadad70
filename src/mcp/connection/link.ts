import type { Client } from '@modelcontextprotocol/client';
import type { McpFailure } from './failure.ts';

/** A way to a server that has answered. */
export interface Link {
  readonly client: Client;
  /** The process, if the server is one of ours. */
  readonly pid: number | undefined;
  /** Makes certain whether the link still works, after this was thrown over it. If it does not, `onLost` has been called. */
  readonly check: (thrown: unknown) => Promise<void>;
  /** Ends the link, and the server if it is one of ours. */
  readonly end: () => Promise<void>;
}

export type Reached = { readonly link: Link } | { readonly failure: McpFailure };

export interface LinkOptions {
  /** Called once, as soon as it is certain that nothing more comes from the server, and before any call is told. */
  readonly onLost: (failure: McpFailure) => void;
  /** How long the server may take to answer our hello. */
  readonly timeoutMs: number;
  /** How long it may take to end by itself. */
  readonly graceMs: number;
  /** Ends the attempt to reach the server; a link that is there is ended by `end`. */
  readonly signal: AbortSignal;
}

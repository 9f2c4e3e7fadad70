import type * as client from '@modelcontextprotocol/client';

/** The MCP client library, loaded when the first server is connected. */
export type Sdk = typeof client;

export async function loadSdk(): Promise<Sdk> {
  return import('@modelcontextprotocol/client');
}

import type * as client from '@modelcontextprotocol/client';

/** The MCP client library. It is loaded when the first server is reached: without servers nobody pays for it. */
export type Sdk = typeof client;

export async function loadSdk(): Promise<Sdk> {
  return import('@modelcontextprotocol/client');
}

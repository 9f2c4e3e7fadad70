/** The two ways to the network that are compared. Loaded only where used: what is not loaded costs no start-up. */
export const TRANSPORTS = {
  'node:http': async () => (await import('../../dist/wire/index.js')).httpTransport,
  fetch: async () => (await import('./fetch-transport.mjs')).fetchTransport,
};

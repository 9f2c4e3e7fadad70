/** The two compared transports. Loaded on first use, because a loaded module costs start-up time. */
export const TRANSPORTS = {
  'node:http': async () => (await import('../../dist/wire/index.js')).httpTransport,
  fetch: async () => (await import('./fetch-transport.mjs')).fetchTransport,
};

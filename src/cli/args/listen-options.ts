/** The options of every command that serves on loopback until it is interrupted. */
export const LISTEN = {
  port: {
    type: 'number',
    short: 'p',
    value: 'N',
    min: 0,
    max: 65_535,
    help: 'where to listen (default: a free port)',
  },
  json: { type: 'flag', help: 'tell the address as one JSON object' },
} as const;

/** The options of every command that listens on loopback until it is interrupted. */
export const LISTEN = {
  port: {
    type: 'number',
    short: 'p',
    value: 'N',
    min: 0,
    max: 65_535,
    help: 'the port to listen on (default: a free port)',
  },
  json: { type: 'flag', help: 'print the address as one JSON object' },
} as const;

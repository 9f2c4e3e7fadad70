/** The option of every command that has a model answer. */
export const MODEL = {
  model: {
    type: 'text',
    short: 'm',
    value: 'PROVIDER/ID',
    completes: 'models',
    help: 'which model; a provider alone takes its default',
  },
} as const;

/** The option of every command that calls a model. */
export const MODEL = {
  model: {
    type: 'text',
    short: 'm',
    value: 'PROVIDER/ID',
    completes: 'models',
    help: 'the model; PROVIDER alone selects its default model',
  },
} as const;

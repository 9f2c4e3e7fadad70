import type { Runnable } from './command.ts';

/** Every command with its line in the overview. Each is loaded only when it is called: start-up is a feature. */
export const COMMANDS: Readonly<
  Record<string, { readonly summary: string; readonly load: () => Promise<Runnable> }>
> = {
  ask: {
    summary: 'Ask a model one question and stream its answer.',
    load: async () => (await import('./ask.ts')).ask,
  },
  decode: {
    summary: "Print a provider's recorded stream as normalised events.",
    load: async () => (await import('./decode.ts')).decode,
  },
  models: {
    summary: 'List the known models, or refresh the list.',
    load: async () => (await import('./models.ts')).models,
  },
  mcp: {
    summary: 'List the configured MCP servers and whether they work.',
    load: async () => (await import('./mcp.ts')).mcp,
  },
  record: {
    summary: 'Record every exchange with a provider, secrets removed.',
    load: async () => (await import('./record.ts')).record,
  },
  replay: {
    summary: 'Serve recorded exchanges back, without a network.',
    load: async () => (await import('./replay.ts')).replay,
  },
  run: {
    summary: 'Give an agent a task in this directory.',
    load: async () => (await import('./run.ts')).run,
  },
  sim: {
    summary: 'Run a simulated provider that speaks all five wires.',
    load: async () => (await import('./sim.ts')).sim,
  },
};

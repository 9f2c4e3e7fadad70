import type { Runnable } from './command.ts';

/** Every command with its line in the overview. Each is loaded only when it is called: start-up is a feature. */
export const COMMANDS: Readonly<
  Record<string, { readonly summary: string; readonly load: () => Promise<Runnable> }>
> = {
  run: {
    summary: 'Give an agent a task in this directory.',
    load: async () => (await import('./commands/run/run.ts')).run,
  },
  chat: {
    summary: 'Talk with an agent that works in this directory.',
    load: async () => (await import('./commands/chat.ts')).chat,
  },
  attach: {
    summary: 'Watch and drive a pod that lives in the daemon or elsewhere.',
    load: async () => (await import('./commands/attach.ts')).attach,
  },
  ask: {
    summary: 'Ask a model one question and stream its answer.',
    load: async () => (await import('./commands/ask.ts')).ask,
  },
  task: {
    summary: 'Hand work to an agent over HTTP, follow it, get its result.',
    load: async () => (await import('./commands/task/task.ts')).task,
  },
  serve: {
    summary: 'Host agents in a daemon.',
    load: async () => (await import('./commands/serve.ts')).serve,
  },
  hld: {
    summary: 'Host agents in a daemon for HumanLayer clients alone.',
    load: async () => (await import('./commands/hld.ts')).hld,
  },
  agent: {
    summary: 'Start and stop agents that are given tasks over HTTP.',
    load: async () => (await import('./commands/agent/agent.ts')).agent,
  },
  keys: {
    summary: 'Create, list and revoke the keys of agents over HTTP.',
    load: async () => (await import('./commands/keys.ts')).keys,
  },
  status: {
    summary: 'Tell whether a daemon is up, and how it is.',
    load: async () => (await import('./commands/status.ts')).status,
  },
  stop: {
    summary: 'End the daemon.',
    load: async () => (await import('./commands/stop.ts')).stop,
  },
  ls: {
    summary: 'List the sessions.',
    load: async () => (await import('./commands/ls.ts')).ls,
  },
  new: {
    summary: 'Make a session and print its id.',
    load: async () => (await import('./commands/new.ts')).newCommand,
  },
  rm: {
    summary: 'Move sessions to the trash.',
    load: async () => (await import('./commands/rm.ts')).rm,
  },
  sessions: {
    summary: 'Show a session, go on with it, interrupt or archive it.',
    load: async () => (await import('./commands/sessions/sessions.ts')).sessions,
  },
  approvals: {
    summary: 'List what waits for an approval, approve or deny it.',
    load: async () => (await import('./commands/approvals/approvals.ts')).approvals,
  },
  rules: {
    summary: 'List and remove what was allowed by answering "always".',
    load: async () => (await import('./commands/rules.ts')).rules,
  },
  logs: {
    summary: "Show the daemon's log, or the events of a pod.",
    load: async () => (await import('./commands/logs.ts')).logs,
  },
  audit: {
    summary: 'Show who approved, changed or was refused what; verify it.',
    load: async () => (await import('./commands/audit.ts')).audit,
  },
  log: {
    summary: 'Verify session files, and repair damaged ones.',
    load: async () => (await import('./commands/log/log.ts')).log,
  },
  doctor: {
    summary: 'Check that everything is well, and what to do if not.',
    load: async () => (await import('./commands/doctor.ts')).doctor,
  },
  models: {
    summary: 'List the known models, or refresh the list.',
    load: async () => (await import('./commands/models.ts')).models,
  },
  mcp: {
    summary: 'List the configured MCP servers and whether they work.',
    load: async () => (await import('./commands/mcp.ts')).mcp,
  },
  decode: {
    summary: "Print a provider's recorded stream as normalised events.",
    load: async () => (await import('./commands/decode.ts')).decode,
  },
  record: {
    summary: 'Record every exchange with a provider, secrets removed.',
    load: async () => (await import('./commands/record.ts')).record,
  },
  replay: {
    summary: 'Serve recorded exchanges back, without a network.',
    load: async () => (await import('./commands/replay.ts')).replay,
  },
  sim: {
    summary: 'Run a simulated provider that speaks all five wires.',
    load: async () => (await import('./commands/sim.ts')).sim,
  },
  completion: {
    summary: 'Print a completion script for your shell.',
    load: async () => (await import('./commands/completion/completion.ts')).completion,
  },
};

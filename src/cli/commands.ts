import type { CommandTable } from './command.ts';

/** Every command with its line in the overview. Each is loaded only when it is called, to keep start-up fast. */
export const COMMANDS: CommandTable = {
  run: {
    summary: 'Run an agent on a task in this directory.',
    load: async () => (await import('./commands/run/run.ts')).run,
  },
  chat: {
    summary: 'Chat with an agent that works in this directory.',
    load: async () => (await import('./commands/chat.ts')).chat,
  },
  attach: {
    summary: 'Attach to a pod in the daemon or in another process.',
    load: async () => (await import('./commands/attach.ts')).attach,
  },
  ask: {
    summary: 'Send one prompt to a model and stream the answer.',
    load: async () => (await import('./commands/ask.ts')).ask,
  },
  task: {
    summary: 'Submit tasks to an agent over HTTP and follow them.',
    load: async () => (await import('./commands/task/task.ts')).task,
  },
  acp: {
    summary: 'Serve an editor that speaks the Agent Client Protocol, on stdin and stdout.',
    load: async () => (await import('./commands/acp.ts')).acp,
  },
  backends: {
    summary: 'List the agents that can do the work of a session.',
    load: async () => (await import('./commands/backends.ts')).backends,
  },
  serve: {
    summary: 'Start the daemon, which hosts agents.',
    load: async () => (await import('./commands/serve.ts')).serve,
  },
  hld: {
    summary: 'Start a daemon for HumanLayer clients only.',
    load: async () => (await import('./commands/hld.ts')).hld,
  },
  agent: {
    summary: 'Start, stop and list agents that accept tasks over HTTP.',
    load: async () => (await import('./commands/agent/agent.ts')).agent,
  },
  keys: {
    summary: 'Create, list, rotate and revoke API keys of the tasks door.',
    load: async () => (await import('./commands/keys.ts')).keys,
  },
  status: {
    summary: 'Show the status of the daemon.',
    load: async () => (await import('./commands/status.ts')).status,
  },
  stop: {
    summary: 'Stop the daemon.',
    load: async () => (await import('./commands/stop.ts')).stop,
  },
  reload: {
    summary: 'Make the daemon read config.yaml again.',
    load: async () => (await import('./commands/reload.ts')).reload,
  },
  ls: {
    summary: 'List the sessions.',
    load: async () => (await import('./commands/ls.ts')).ls,
  },
  new: {
    summary: 'Create a session and print its id.',
    load: async () => (await import('./commands/new.ts')).newCommand,
  },
  rename: {
    summary: 'Rename a session.',
    load: async () => (await import('./commands/rename.ts')).rename,
  },
  rm: {
    summary: 'Move sessions to the trash.',
    load: async () => (await import('./commands/trash/rm.ts')).rm,
  },
  trash: {
    summary: 'List removed sessions, or restore them.',
    load: async () => (await import('./commands/trash/trash.ts')).trash,
  },
  sessions: {
    summary: 'Show, continue, interrupt, rewind or archive sessions.',
    load: async () => (await import('./commands/sessions/sessions.ts')).sessions,
  },
  approvals: {
    summary: 'List, watch, approve or deny pending approvals.',
    load: async () => (await import('./commands/approvals/approvals.ts')).approvals,
  },
  rules: {
    summary: 'List and remove rules created by answering "always".',
    load: async () => (await import('./commands/rules.ts')).rules,
  },
  logs: {
    summary: "Show the daemon's log, or the events of a pod.",
    load: async () => (await import('./commands/log/logs.ts')).logs,
  },
  audit: {
    summary: 'Show or verify the audit log.',
    load: async () => (await import('./commands/audit.ts')).audit,
  },
  log: {
    summary: 'Verify session files, and repair damaged ones.',
    load: async () => (await import('./commands/log/log.ts')).log,
  },
  doctor: {
    summary: 'Check the installation and print a fix for each problem.',
    load: async () => (await import('./commands/doctor.ts')).doctor,
  },
  config: {
    summary: 'Create the configuration file.',
    load: async () => (await import('./commands/config/config.ts')).config,
  },
  accounts: {
    summary: 'List, add, test and remove accounts of providers.',
    load: async () => (await import('./commands/accounts/accounts.ts')).accounts,
  },
  models: {
    summary: 'List the known models, or refresh the list.',
    load: async () => (await import('./commands/models.ts')).models,
  },
  mcp: {
    summary: 'List and check MCP servers, or serve agents to an MCP host.',
    load: async () => (await import('./commands/mcp/mcp.ts')).mcp,
  },
  decode: {
    summary: "Print a provider's recorded stream as normalised events.",
    load: async () => (await import('./commands/decode.ts')).decode,
  },
  record: {
    summary: 'Record exchanges with a provider, without secrets.',
    load: async () => (await import('./commands/record.ts')).record,
  },
  replay: {
    summary: 'Replay recorded exchanges without network access.',
    load: async () => (await import('./commands/replay.ts')).replay,
  },
  sim: {
    summary: 'Run a simulated provider for all provider APIs.',
    load: async () => (await import('./commands/sim.ts')).sim,
  },
  completion: {
    summary: 'Print a completion script for your shell.',
    load: async () => (await import('./commands/completion/completion.ts')).completion(COMMANDS),
  },
};

/** Other agents that do the work of a pod, behind one interface. */
export type {
  AgentCall,
  AgentEvent,
  AgentInput,
  AgentOutcome,
  PermissionReply,
  PermissionRequest,
} from './agent-event.ts';
export { AgentProcess, type AgentProcessOptions } from './agent-process.ts';
export type {
  AgentCapabilities,
  AgentConnection,
  AgentDescription,
  AgentEnd,
  AgentLaunch,
  AgentProgram,
  AgentServices,
  AgentSettings,
  ConnectOptions,
  ProbeOptions,
  ProbeResult,
  ServiceCommand,
  ServiceCommandEnd,
  SessionStart,
} from './agent-program.ts';
export { AgentSession, type AgentSessionParts } from './agent-session.ts';
export type { AgentBackend, AgentSessionId, Backend, BackendOptions } from './backend.ts';
export { ForeignWorker } from './foreign-worker.ts';

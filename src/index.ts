/** The embedding API: what a program needs to host agents, to send requests and to handle their streams. */
export { type ErrorCode, PolypodError } from './base/index.ts';
export { configuredAgents, type ConfiguredAgentsOptions } from './setup/index.ts';
export * from './llm/index.ts';
export * from './pod/index.ts';
export {
  type ListenOptions,
  PodDoor,
  podEvents,
  type PodEventsOptions,
  type PodListener,
  PodSockets,
  type PodSocketsOptions,
  type WireErrorCode as PodProtocolErrorCode,
  type WireEvent as PodProtocolEvent,
  type WireEvents as PodProtocolEvents,
  type WireItem as PodProtocolItem,
  type WireRequest as PodProtocolRequest,
  type WireSnapshot as PodProtocolSnapshot,
} from './protocols/pod/index.ts';
export { providerNamed, providers } from './registry.ts';

/** The embedding API: what a program needs to host agents, to send requests and to handle their streams. */
export { type ErrorCode, PolypodError } from './base/index.ts';
export { configuredAgents, type ConfiguredAgentsOptions } from './daemon/index.ts';
export * from './llm/index.ts';
export * from './pod/index.ts';
export { providerNamed, providers } from './registry.ts';

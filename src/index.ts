/** The embedding API: what a program needs to send requests and handle their streams. */
export { type ErrorCode, PolypodError } from './base/index.ts';
export * from './llm/index.ts';
export { providerNamed, providers } from './registry.ts';

/** The coding-agent protocol of pi and xcsh: commands and events as JSON lines, over stdio or any two streams. */
import type { RpcParts } from './parts.ts';
import type { RpcStreams } from './link/serve.ts';

export type { RpcNeeds } from './needs.ts';
export { RPC_SOCKET } from './link/greeting.ts';
export type { LinkHeader } from './link/link-header.ts';
export type { ModelScope, NamedModel } from './sessions/model-scope.ts';
export type { ModelSelection } from './sessions/model-selection.ts';
export type { ExtensionLink, RpcExtensions, RpcLimits, RpcParts, RpcSessions } from './parts.ts';
export type { RpcStreams } from './link/serve.ts';
export type { UiRequests } from './host-side/ui.ts';
export { DEFAULT_RULES } from './host-side/default-rules.ts';

/** Serves one client. Sends `ready` once its first session is open. */
export async function serveRpc(streams: RpcStreams, parts: RpcParts, signal: AbortSignal): Promise<void> {
  return (await import('./link/serve.ts')).serveRpc(streams, parts, signal);
}

/** Resolves a client's options to its models and its first pod, for a process that serves the client itself. */
export async function rpcBeginnings() {
  const [models, scopes, pods] = await Promise.all([
    import('./sessions/model-selection.ts'),
    import('./sessions/model-scope.ts'),
    import('./sessions/first-pod.ts'),
  ]);
  return { ...models, ...scopes, ...pods };
}

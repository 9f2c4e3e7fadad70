/** The doors: each decodes the requests of one protocol into commands and encodes events for its clients. */
import type { User } from './hld/needs.ts';
import type { Project } from './tasks/index.ts';

export { readGreeting } from './greeting.ts';
export type { Inventory, PromptFiles } from './inventory.ts';
export { ACP_SOCKET, type AcpLinkHeader, type AcpNeeds, serveAcp } from './acp/index.ts';
export { bindDoor, type Door, type DoorContext, type OpenDoor } from './door.ts';
export type { HldNeeds } from './hld/needs.ts';
export { hldSocketPath } from './hld/settings.ts';
export { isPodDoor } from './pod/door.ts';
export type { PodNeeds } from './pod/needs.ts';
export {
  DEFAULT_RULES,
  type ExtensionLink,
  type LinkHeader,
  type ModelScope,
  type ModelSelection,
  type NamedModel,
  RPC_SOCKET,
  rpcBeginnings,
  type RpcExtensions,
  type RpcLimits,
  type RpcNeeds,
  type RpcParts,
  type RpcSessions,
  type RpcStreams,
  serveRpc,
  type UiRequests,
} from './rpc/index.ts';
export { tasksDoor } from './tasks/door.ts';
export {
  createKey,
  hashOf as keyHash,
  type KeyLimits,
  type KeyRecord,
  keyState,
  type NewKey,
  readKeys,
  readKeyUses,
  REVOKED_TASKS,
  revokeKey,
  rotateKey,
  type KeyPermission,
  KEY_PERMISSIONS as KEY_SCOPES,
  type TasksListener,
  type Monitoring,
  watchKeys,
} from './tasks/index.ts';

/** Projects a pod's events to lines of the Pod Protocol, for a door that forwards them. At most `limit` lines can be unread. */
export async function podLines(limit: number): Promise<Project> {
  const { PodDoor, projectedEvents } = await import('./pod/index.ts');
  const door = new PodDoor();
  return (pod, options) => projectedEvents(door, pod, { ...options, limit });
}

/** The socket path where this user's HLD clients connect. Throws if another daemon is running there. Loads the door on demand. */
export async function freeHldSocket(user: Pick<User, 'home' | 'env'>): Promise<string> {
  return (await import('./hld/index.ts')).freeHldSocket(user);
}

/** The control protocol: how Polypod's own commands use the pods of another process. */
import type { Host } from '../pod/index.ts';
import type { OpenDoor } from '../protocols/index.ts';
import type { ConversationPage, ConversationRange } from './conversation-page.ts';
import type { ControlPeer } from './handshake.ts';
import type { HostMethodsOptions } from './host-methods.ts';
import type { ControlLink } from './link.ts';
import type { PodMethodsOptions } from './pod-methods.ts';
import type { PodHandle } from './remote-pod.ts';
import type { ControlServer, ControlServerOptions, Method, ConnectionHandover } from './server.ts';

export type { ConversationPage, ConversationRange } from './conversation-page.ts';
export { encode } from './line.ts';
export type { ControlLink } from './link.ts';
export { readParams } from './read-params.ts';
export type { PodHandle } from './remote-pod.ts';
export type { ControlServer, LinkSide, Method } from './server.ts';

// Loaded on first use: most commands need neither a server nor a connection.

/** Connects to the control socket at a path; undefined if no process listens there. */
export async function openControlLink(path: string, peer: ControlPeer): Promise<ControlLink | undefined> {
  return (await import('./link.ts')).ControlLink.open(path, peer);
}

/** A handle for a pod of the process at the other end of a connection. */
export async function remotePod(id: string, link: ControlLink): Promise<PodHandle> {
  return (await import('./remote-pod.ts')).remotePod(id, link);
}

/** Serves the control protocol on a socket of this process. */
export async function listenForControl(options: ControlServerOptions): Promise<ControlServer> {
  const { ControlServer } = await import('./server.ts');
  const server = new ControlServer(options);
  await server.listen();
  return server;
}

/** The methods of every process that hosts pods. */
export async function podMethods(options: PodMethodsOptions): Promise<Readonly<Record<string, Method>>> {
  return (await import('./pod-methods.ts')).podMethods(options);
}

/** The methods of a command that hosts its pods itself. */
export async function hostMethods(options: HostMethodsOptions): Promise<Readonly<Record<string, Method>>> {
  return (await import('./host-methods.ts')).hostMethods(options);
}

/** Converts a control connection to a connection of the pod door. */
export async function attachTo(host: Host, podDoor: () => OpenDoor | undefined): Promise<ConnectionHandover> {
  return (await import('./attach.ts')).attachTo(host, podDoor);
}

/** Reads a part of the conversation of a session that this process hosts. */
export async function conversationPage(
  history: Host['history'],
  id: string,
  range: ConversationRange,
): Promise<ConversationPage> {
  return (await import('./conversation-page.ts')).conversationPage(history, id, range);
}

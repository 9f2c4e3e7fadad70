/** The file name of the daemon's socket for this protocol, in the runtime directory. */
export const RPC_SOCKET = 'rpc.sock';

/** The first line to every client: commands are accepted from now on. */
export function readyLine(version: string): string {
  return JSON.stringify({ type: 'ready', version });
}

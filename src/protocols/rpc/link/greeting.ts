import { arrayOf, isObject, stringOf, tryParse } from '../../../base/index.ts';

/** The file name of the daemon's socket for this protocol, in the runtime directory. */
export const RPC_SOCKET = 'rpc.sock';

/** The first line to every client: commands are accepted from now on. */
export function readyLine(version: string): string {
  return JSON.stringify({ type: 'ready', version });
}

/** The daemon's reply to the header of a link. Everything after it belongs to the client. */
export type Greeting =
  | { readonly open: true; readonly notices: readonly string[] }
  | { readonly refused: string };

export function encodeGreeting(greeting: Greeting): string {
  return `${JSON.stringify(greeting)}\n`;
}

export function readGreeting(line: string): Greeting {
  const value = tryParse(line);
  if (isObject(value) && value.open === true)
    return { open: true, notices: arrayOf(value.notices).map(stringOf) };
  const reason = isObject(value) ? stringOf(value.refused) : '';
  return { refused: reason || 'unexpected response from the daemon: it may be another version. Restart it.' };
}

import { arrayOf, isObject, stringOf, tryParse } from '../../../base/index.ts';

/** The daemon's socket of this protocol, in the runtime directory. */
export const RPC_SOCKET = 'rpc.sock';

/** The first line of every client: from here on commands are answered. */
export function readyLine(version: string): string {
  return JSON.stringify({ type: 'ready', version });
}

/** How the daemon answers the header of a link. All that follows is the client's. */
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
  return { refused: reason || 'the daemon answers with something else: is it of another version?' };
}

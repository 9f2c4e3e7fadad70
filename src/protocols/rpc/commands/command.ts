import type { RpcCommand } from '../arguments.ts';
import type { RpcSession } from '../sessions/rpc-session.ts';

/**
 * What a command does. It answers with the data of its response; one that has to answer before it is done calls `answer`,
 * and what it throws after that is told as a second response. What may take long is awaited through `longWait`, so that other
 * commands can be answered meanwhile.
 */
export type Command = (
  wish: RpcCommand,
  session: RpcSession,
  answer: (data?: unknown) => void,
  longWait: <T>(awaited: Promise<T>) => Promise<T>,
) => Promise<unknown>;

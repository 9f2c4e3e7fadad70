import type { RpcCommand } from '../arguments.ts';
import type { RpcSession } from '../sessions/rpc-session.ts';

/**
 * Handles a command and returns the data of its response. A command that must respond before it is done calls `answer`; an error after that
 * is sent as a second response. Long operations are awaited through `longWait`, so that other commands can be answered meanwhile.
 */
export type CommandHandler = (
  request: RpcCommand,
  session: RpcSession,
  answer: (data?: unknown) => void,
  longWait: <T>(awaited: Promise<T>) => Promise<T>,
) => Promise<unknown>;

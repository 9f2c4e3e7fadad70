import type { McpFailure } from './connection/failure.ts';

/** The state of a server. */
export type ServerState =
  /** Its tools have not been requested yet. */
  | { readonly type: 'idle' }
  | { readonly type: 'connecting' }
  | { readonly type: 'ready'; readonly since: number }
  | { readonly type: 'restarting'; readonly delayMs: number; readonly attempt: string }
  | { readonly type: 'failed' }
  | { readonly type: 'closed' };

/**
 * Returns the message for a model that calls a tool of an unavailable server: the reason, and what happens
 * next.
 */
export function outageText(name: string, state: ServerState, failure: McpFailure | undefined): string {
  return `The MCP server "${name}" is unavailable${because(failure)}\n${nextStep(state)}`;
}

/** Returns the message for a model whose call was pending when the server was lost. */
export function lossText(name: string, state: ServerState, failure: McpFailure | undefined): string {
  const effect = 'It is unknown whether the call had an effect.';
  return `The MCP server "${name}" was lost during the call${because(failure)}\n${effect} ${nextStep(state)}`;
}

function because(failure: McpFailure | undefined): string {
  return failure === undefined ? '' : `: ${failure.text}`;
}

function nextStep(state: ServerState): string {
  switch (state.type) {
    case 'restarting':
      return `It restarts in ${state.delayMs / 1000} s (${state.attempt}): call again after that, or continue without it.`;
    case 'failed':
      return 'Polypod had stopped restarting it and makes one more attempt now: call again in a moment, or continue without it.';
    case 'ready':
      return 'It is available again: call again, or continue without it.';
    case 'closed':
      return 'It was closed with its session: continue without it.';
    default:
      return 'It is starting: call again in a moment, or continue without it.';
  }
}

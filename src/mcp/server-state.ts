import type { McpFailure } from './connection/failure.ts';

/** What a server is doing. */
export type ServerState =
  /** Nobody has asked for its tools yet. */
  | { readonly type: 'idle' }
  | { readonly type: 'connecting' }
  | { readonly type: 'ready'; readonly since: number }
  | { readonly type: 'restarting'; readonly delayMs: number; readonly attempt: string }
  | { readonly type: 'failed' }
  | { readonly type: 'closed' };

/** What a model is told that calls a tool of a server which is not there: why, and what happens next. */
export function outageText(name: string, state: ServerState, failure: McpFailure | undefined): string {
  return `The MCP server "${name}" is not there${because(failure)}\n${nextStep(state)}`;
}

/** What a model is told whose call was under way when the server was lost. */
export function lossText(name: string, state: ServerState, failure: McpFailure | undefined): string {
  const unsure = 'Whether the call had an effect is not known.';
  return `The MCP server "${name}" was lost during the call${because(failure)}\n${unsure} ${nextStep(state)}`;
}

function because(failure: McpFailure | undefined): string {
  return failure === undefined ? '' : `: ${failure.text}`;
}

function nextStep(state: ServerState): string {
  switch (state.type) {
    case 'restarting':
      return `It is tried again in ${state.delayMs / 1000} s (${state.attempt}): call again after that, or go on without it.`;
    case 'failed':
      return 'Polypod had given it up and makes one more attempt now: call again in a moment, or go on without it.';
    case 'ready':
      return 'It is there again: call again, or go on without it.';
    case 'closed':
      return 'It was closed with its session: go on without it.';
    default:
      return 'It is being started: call again in a moment, or go on without it.';
  }
}

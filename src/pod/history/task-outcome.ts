import { arrayOf, numberOf, objectOf, stringOf } from '../../base/index.ts';
import type { AgentMessage } from '../session/index.ts';
import { messageText } from './message-text.ts';

/** A file that a call changed. */
export interface FileChange {
  readonly path: string;
  readonly tool: string;
  readonly diff: string;
}

/** The output of a task. */
export interface TaskOutcome {
  /** The last text of the model; empty if there is none. */
  readonly text: string;
  /** The output of the last call. `stderr` contains the reason if the call was denied or failed to start. */
  readonly command: {
    readonly stdout: string;
    readonly stderr: string;
    /** Null for a command that a signal terminated or that never started. */
    readonly exitCode: number | null;
  };
  readonly changes: readonly FileChange[];
}

/** Computes the outcome of a task from its messages. */
export function outcomeIn(messages: readonly AgentMessage[]): TaskOutcome {
  return { text: lastText(messages), command: commandResult(messages), changes: changesIn(messages) };
}

function lastText(messages: readonly AgentMessage[]): string {
  const texts = messages.flatMap((message) => (message.role === 'assistant' ? [messageText(message)] : []));
  return texts.findLast((text) => text !== '') ?? '';
}

function commandResult(messages: readonly AgentMessage[]): TaskOutcome['command'] {
  const ended = messages.findLast(({ role }) => role === 'toolResult');
  const { stdout, stderr, exitCode } = objectOf(ended?.details);
  return {
    stdout: stringOf(stdout),
    stderr: typeof stderr === 'string' ? stderr : ended === undefined ? '' : messageText(ended),
    exitCode: numberOf(exitCode) ?? null,
  };
}

function changesIn(messages: readonly AgentMessage[]): readonly FileChange[] {
  const paths = new Map<string, string>();
  for (const message of messages)
    for (const block of message.role === 'assistant' ? arrayOf(message.content) : []) {
      const { type, id, arguments: given } = objectOf(block);
      if (type === 'toolCall') paths.set(stringOf(id), stringOf(objectOf(given).path));
    }
  return messages.flatMap((message) => {
    const { role, toolCallId, toolName, isError } = message;
    const { diff } = objectOf(message.details);
    if (role !== 'toolResult' || isError === true || typeof diff !== 'string') return [];
    return [{ path: paths.get(stringOf(toolCallId)) ?? '', tool: stringOf(toolName), diff }];
  });
}

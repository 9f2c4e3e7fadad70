import { numberOf } from '../../base/index.ts';
import { printedText, type ToolOutput } from '../../tools/index.ts';
import type { AgentMessage } from './agent-message.ts';
import { itemsOf } from './messages.ts';

/** A person's shell command, as a message in pi's format. */
export function shellMessage(
  command: string,
  output: ToolOutput,
  how: { readonly cancelled: boolean; readonly isPrivate: boolean; readonly at: Date },
): AgentMessage {
  const { exitCode, outputFile, endedBy } = output.details ?? {};
  return {
    role: 'bashExecution',
    command,
    output: printedText(output),
    ...(numberOf(exitCode) === undefined ? {} : { exitCode }),
    cancelled: how.cancelled || endedBy === 'timeout',
    truncated: typeof outputFile === 'string',
    ...(typeof outputFile === 'string' ? { fullOutputPath: outputFile } : {}),
    ...(how.isPrivate ? { excludeFromContext: true } : {}),
    timestamp: how.at.getTime(),
  };
}

/** The text for the model; nothing if the command is private. */
export function shellItem(message: AgentMessage) {
  return itemsOf(message)[0];
}

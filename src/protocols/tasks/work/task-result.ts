import { arrayOf, type JsonObject, numberOf, objectOf, stringOf } from '../../../base/index.ts';
import type { AgentMessage } from '../../../pod/index.ts';
import { textIn } from './message-text.ts';
import type { TaskHistory } from './task-history.ts';
import type { TaskType, WireChange } from '../wire.ts';

/** What a task brought, by its type. */
export function resultOf(taskType: TaskType, { messages, usage }: TaskHistory): JsonObject {
  switch (taskType) {
    case 'chat':
    case 'complex_task':
      return { text: lastText(messages), ...(usage && { usage }) };
    case 'command_execution':
      return commandResult(messages);
    case 'file_operation':
      return { text: lastText(messages), changes: changesIn(messages), ...(usage && { usage }) };
  }
}

/** The last message of the model. */
export function lastText(messages: readonly AgentMessage[]): string {
  const said = messages.flatMap((message) => (message.role === 'assistant' ? [textIn(message)] : []));
  return said.findLast((text) => text !== '') ?? '';
}

/** What was said instead of an output, by a refusal or a failed start, is an error's text. */
function commandResult(messages: readonly AgentMessage[]): JsonObject {
  const ended = messages.findLast(({ role }) => role === 'toolResult');
  const { stdout, stderr, exitCode } = objectOf(ended?.details);
  return {
    stdout: stringOf(stdout),
    stderr: typeof stderr === 'string' ? stderr : ended === undefined ? '' : textIn(ended),
    // A command that a signal ended, or that was never begun, has none.
    exitCode: numberOf(exitCode) ?? null,
  };
}

/** The file changes of tool results. */
export function changesIn(
  messages: readonly AgentMessage[],
): readonly (WireChange & { readonly diff: string })[] {
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

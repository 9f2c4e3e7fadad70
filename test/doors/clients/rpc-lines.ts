import { arrayOf, objectOf, stringOf } from '../../../src/base/index.ts';
import type { JsonLine } from '../lines.ts';
import { type DoorLine, doorLine, deltaLine } from '../door-line.ts';

/** The content of an event of RPC mode; undefined if it is not in the protocol. */
export function parseRpcLine(line: JsonLine): DoorLine | 'not of the log' | undefined {
  const name = stringOf(line.type);
  const seq = Number(line.seq);
  switch (name) {
    case 'agent_start':
    case 'turn_start':
    case 'auto_retry_start':
      return doorLine(seq, name);
    case 'auto_retry_end':
      return doorLine(seq, name, { success: line.success });
    case 'agent_end':
      return doorLine(seq, name, {
        messages: arrayOf(line.messages).map((message) => objectOf(message).role),
      });
    case 'agent_settled':
      return doorLine(seq, name, { aborted: line.aborted });
    case 'message_start':
      return doorLine(seq, name, { role: objectOf(line.message).role });
    case 'message_end':
      return doorLine(seq, name, messageGist(line.message));
    case 'turn_end':
      return doorLine(seq, name, {
        results: arrayOf(line.toolResults).map((one) => objectOf(one).toolCallId),
      });
    case 'message_update':
      return parseUpdate(seq, objectOf(line.assistantMessageEvent));
    case 'tool_execution_start':
      return doorLine(seq, name, { id: line.toolCallId, name: line.toolName });
    case 'tool_execution_update':
      return doorLine(seq, name, { id: line.toolCallId, text: textOf(objectOf(line.partialResult).content) });
    case 'tool_execution_end':
      return doorLine(seq, name, {
        id: line.toolCallId,
        name: line.toolName,
        text: textOf(objectOf(line.result).content),
        isError: line.isError,
      });
    case 'todo_reminder':
    case 'todo_auto_clear':
      return 'not of the log';
    default:
      return undefined;
  }
}

function parseUpdate(seq: number, update: JsonLine): DoorLine {
  const type = stringOf(update.type);
  const at = Number(update.contentIndex);
  if (type.endsWith('_delta')) return deltaLine(seq, `message_update ${type} ${at}`, stringOf(update.delta));
  if (type === 'toolcall_end')
    return doorLine(seq, `message_update ${type} ${at}`, { id: objectOf(update.toolCall).id });
  return doorLine(
    seq,
    `message_update ${type} ${at}`,
    type.endsWith('_end') ? { content: update.content } : {},
  );
}

function messageGist(value: unknown): Readonly<Record<string, unknown>> {
  const message = objectOf(value);
  if (message.role === 'toolResult')
    return { role: 'toolResult', id: message.toolCallId, text: textOf(message.content) };
  if (message.role !== 'assistant') return { role: message.role, text: textOf(message.content) };
  return {
    role: 'assistant',
    text: textOf(message.content),
    calls: arrayOf(message.content).flatMap((part) =>
      objectOf(part).type === 'toolCall' ? [objectOf(part).id] : [],
    ),
    stopReason: message.stopReason,
  };
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return arrayOf(content)
    .flatMap((part) => (objectOf(part).type === 'text' ? [stringOf(objectOf(part).text)] : []))
    .join('\n');
}

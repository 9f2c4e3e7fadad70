import { type JsonObject, objectOf, stringOf } from '../../../src/base/index.ts';
import type { Line } from './client.ts';

/** A short form of lines, to compare their order. Consecutive deltas count once, since their number is not fixed. */
export function gist(lines: readonly Line[]): readonly string[] {
  const short = lines.map(shortly);
  return short.filter((text, at) => !(text.endsWith('_delta') && short[at - 1] === text));
}

function shortly(line: Line): string {
  switch (line.type) {
    case 'response':
      return `${stringOf(line.command)} ${line.success === true ? 'ok' : `failed: ${stringOf(line.error)}`}`;
    case 'message_start':
    case 'message_end':
      return `${line.type} ${messageGist(objectOf(line.message))}`;
    case 'message_update':
      return `  ${stringOf(objectOf(line.assistantMessageEvent).type)}`;
    case 'turn_end':
      return `turn_end ${(line.toolResults as unknown[]).length}`;
    case 'agent_end':
      return `agent_end ${(line.messages as JsonObject[]).map(({ role }) => role).join(' ')}`;
    case 'tool_execution_start':
    case 'tool_execution_update':
    case 'host_tool_call':
      return `${line.type} ${stringOf(line.toolName)}`;
    case 'tool_execution_end':
      return `${line.type} ${stringOf(line.toolName)}${line.isError === true ? ' failed' : ''}`;
    case 'extension_ui_request':
      return `${line.type} ${stringOf(line.method)}`;
    default:
      return line.type;
  }
}

function messageGist({ role, stopReason }: JsonObject): string {
  return `${stringOf(role)}${stopReason === undefined ? '' : ` ${stringOf(stopReason)}`}`;
}

import { stringOf, tryParse, objectOf } from '../../../base/index.ts';
import type { ConversationEvent, FileSnapshot } from '../wire.ts';

/** The contents of files as the session read them, latest first. */
export function fileSnapshots(events: readonly ConversationEvent[]): readonly FileSnapshot[] {
  const paths = new Map<string, string>();
  const snapshots: FileSnapshot[] = [];
  for (const event of events) {
    const { tool_name: name = '', tool_id: id } = event;
    const key = PATH_KEYS.get(name);
    if (event.event_type === 'tool_call' && key !== undefined && id !== undefined)
      paths.set(id, stringOf(objectOf(tryParse(event.tool_input_json ?? ''))[key]));
    const toolId = event.tool_result_for_id ?? '';
    const path = paths.get(toolId);
    const content = contentIn(event.tool_result_content ?? '');
    if (path === undefined || content === undefined) continue;
    snapshots.push({ tool_id: toolId, file_path: path, content, created_at: event.created_at });
  }
  return snapshots.toReversed();
}

/** The tools that read files, ours and Claude Code's, and their argument for the file. */
const PATH_KEYS: ReadonlyMap<string, string> = new Map([
  ['read', 'path'],
  ['Read', 'file_path'],
]);

/** Removes the line numbers and the trailing notes; undefined for a result that is not file content. */
function contentIn(output: string): string | undefined {
  const lines = output.split('\n').filter((line) => !/^\[.*\]$/.test(line) || /^\d+\t/.test(line));
  if (lines.length === 0 || !lines.every((line) => /^\d+\t/.test(line))) return undefined;
  return lines.map((line) => line.slice(line.indexOf('\t') + 1)).join('\n');
}

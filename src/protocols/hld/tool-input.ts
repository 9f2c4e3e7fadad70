import { isObject, type JsonObject, tryParse } from '../../base/index.ts';

/**
 * The arguments of a call as clients of this protocol read them; undefined if they are not JSON. Sessions record the file of a call
 * of Claude Code as `path`, as for our own tools. Clients read it from the field that Claude Code uses.
 */
export function toolInput(tool: string, args: string): unknown {
  const input = tryParse(args);
  const key = FILE_KEYS.get(tool);
  return key !== undefined && isObject(input) ? withFile(input, key) : input;
}

/** The same as JSON text. Text that need not change is kept as it is. */
export function toolInputText(tool: string, args: string): string {
  return FILE_KEYS.has(tool) ? (JSON.stringify(toolInput(tool, args)) ?? args) : args;
}

function withFile(input: JsonObject, key: string): JsonObject {
  const { path, ...rest } = input;
  return path === undefined || rest[key] !== undefined ? input : { [key]: path, ...rest };
}

const FILE_KEYS: ReadonlyMap<string, string> = new Map([
  ['Read', 'file_path'],
  ['Write', 'file_path'],
  ['Edit', 'file_path'],
  ['MultiEdit', 'file_path'],
  ['NotebookEdit', 'notebook_path'],
]);

import { isObject, type JsonObject, numberOf, objectOf, tryParse } from '../../base/index.ts';
import { FORMAT_VERSION } from './entry.ts';

/**
 * Converts the lines of a version 1 file to version 3: each entry gets the previous one as its parent, and a compaction names the
 * first kept entry by id instead of by line. Unreadable lines are omitted. For a copy: the old file stays.
 */
export function upgradeLines(lines: Iterable<string>, newId: () => string): readonly string[] {
  const values = [...lines].map((line) => tryParse(line)).filter(isObject);
  const taken = new Set<string>();
  const ids = values.map((value) => (value.type === 'session' ? undefined : freeId(newId, taken)));
  let parentId: string | null = null;
  return values.map((value, at) => {
    const id = ids[at];
    if (id === undefined) return JSON.stringify({ ...value, version: FORMAT_VERSION });
    const { type, timestamp, firstKeptEntryIndex, message, ...others } = value;
    const kept = ids[numberOf(firstKeptEntryIndex) ?? -1];
    const upgraded = message === undefined ? {} : { message: renamed(objectOf(message)) };
    const keeps = kept === undefined ? {} : { firstKeptEntryId: kept };
    const line = JSON.stringify({ type, id, parentId, timestamp, ...others, ...upgraded, ...keeps });
    parentId = id;
    return line;
  });
}

function renamed(message: JsonObject): JsonObject {
  return message.role === 'hookMessage' ? { ...message, role: 'custom' } : message;
}

function freeId(newId: () => string, taken: Set<string>): string {
  let id = newId();
  while (taken.has(id)) id = newId();
  taken.add(id);
  return id;
}

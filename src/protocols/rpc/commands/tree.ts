import { objectIn } from '../../../base/index.ts';
import { encodeEntry, type Entry, type SessionTree } from '../../../pod/index.ts';
import { EncodedJson } from '../encode/encoded-json.ts';
import type { Command } from './command.ts';

export const getTree: Command = async (_, session) => {
  const tree = await session.parts.host.tree(session.pod.id);
  return new EncodedJson(`{"tree":${encodeTree(tree)},"leafId":${JSON.stringify(tree.leafId)}}`);
};

/**
 * The entries as nested nodes `{entry, children, label?}`. Each entry is a child of the one before it, so a session of ten
 * thousand entries is nested ten thousand levels deep: neither this nor anything that reads the result may be recursive.
 */
export function encodeTree(tree: SessionTree): string {
  const parts: string[] = [];
  // What is still to be written, the next at the end: a node, or text that closes one.
  const rest: (Entry | string)[] = [];
  const addNodes = (entries: readonly Entry[], close: string): void => {
    parts.push('[');
    rest.push(close);
    for (let index = entries.length - 1; index >= 0; index -= 1) {
      const entry = entries[index];
      if (entry !== undefined) rest.push(entry);
      if (index > 0) rest.push(',');
    }
  };
  addNodes(tree.children(null), ']');
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    if (typeof next === 'string') {
      parts.push(next);
      continue;
    }
    const label = tree.labels.get(next.id);
    parts.push(`{"entry":${entryText(next)},"children":`);
    addNodes(tree.children(next.id), label === undefined ? ']}' : `],"label":${JSON.stringify(label)}}`);
  }
  return parts.join('');
}

function entryText(entry: Entry): string {
  // The line of a foreign program is written anew: it may hold white space that breaks our line.
  return entry.type === 'unknown' ? JSON.stringify(objectIn(entry.raw) ?? {}) : encodeEntry(entry);
}

import type { EntryNode } from '../../../pod/index.ts';
import { EncodedJson } from '../encode/encoded-json.ts';
import type { CommandHandler } from './command.ts';

export const getTree: CommandHandler = async (_, session) => {
  const { roots, leafId } = await session.parts.host.history.tree(session.pod.id);
  return new EncodedJson(`{"tree":${encodeTree(roots)},"leafId":${JSON.stringify(leafId)}}`);
};

/**
 * Encodes the entries as nested nodes `{entry, children, label?}`. Each entry is a child of the one before it, so a session of ten thousand
 * entries is ten thousand levels deep: neither this function nor a reader of its result can be recursive.
 */
function encodeTree(roots: readonly EntryNode[]): string {
  const parts: string[] = [];
  // A stack of what remains to be written: nodes, and texts that close a node.
  const rest: (EntryNode | string)[] = [];
  const addNodes = (nodes: readonly EntryNode[], close: string): void => {
    parts.push('[');
    rest.push(close);
    for (let index = nodes.length - 1; index >= 0; index -= 1) {
      const node = nodes[index];
      if (node !== undefined) rest.push(node);
      if (index > 0) rest.push(',');
    }
  };
  addNodes(roots, ']');
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    if (typeof next === 'string') {
      parts.push(next);
      continue;
    }
    const { json, label, children } = next;
    parts.push(`{"entry":${json},"children":`);
    addNodes(children, label === undefined ? ']}' : `],"label":${JSON.stringify(label)}}`);
  }
  return parts.join('');
}

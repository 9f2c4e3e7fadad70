import type { Item } from '../../llm/index.ts';

/** A call that has no result yet. */
export interface OpenCall {
  readonly callId: string;
  readonly name: string;
}

/** The calls of the last answer without a result. Every new prompt closes them. */
export function openCallsIn(items: readonly Item[]): readonly OpenCall[] {
  const answered = new Set<string>();
  const open: OpenCall[] = [];
  for (let at = items.length - 1; at >= 0; at -= 1) {
    const item = items[at];
    if (item?.type === 'tool-result') answered.add(item.callId);
    else if (item?.type === 'tool-call' && !answered.has(item.callId))
      open.unshift({ callId: item.callId, name: item.name });
    else if (item?.type === 'message' && item.role === 'user') break;
  }
  return open;
}

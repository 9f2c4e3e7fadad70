import type { Item } from '../../src/llm/index.ts';
import type { PodEvent } from '../../src/pod/index.ts';
import { INTERRUPTED } from './expected/hld.ts';
import { textIn } from './expected/pod.ts';

/** How a protocol shows a conversation. */
export interface Shown {
  /** Whether results are in the order in which calls ended; otherwise in call order. */
  readonly asEnded: boolean;
  /** What is shown of an interrupted answer: the part for the model, with or without an additional row, or everything. */
  readonly broken: 'left' | 'left and marked' | 'all';
}

/** The conversation that a log adds up to, one text per message, call or result. */
export function conversationOf(log: readonly PodEvent[], { asEnded, broken }: Shown): readonly string[] {
  const lines: string[] = [];
  const ended = new Set<string>();
  for (const event of log) {
    if (event.type === 'input') lines.push(...itemLines([event.item]));
    if (event.type === 'llm-end') {
      const isComplete = event.outcome === 'completed' || broken !== 'all';
      const items = isComplete ? event.items : (event.broken ?? []);
      lines.push(
        ...items.flatMap((item) => [
          ...itemLines([item]),
          ...(broken === 'left and marked' ? mark(item) : []),
        ]),
      );
    }
    if (event.type === 'tool-end' && asEnded) {
      ended.add(event.callId);
      lines.push(`result ${event.callId}: ${textIn(event.output.content)}`);
    }
    if (event.type === 'turn-end')
      lines.push(
        ...itemLines(event.results.filter((item) => item.type !== 'tool-result' || !ended.has(item.callId))),
      );
    if (event.type === 'turn-start') ended.clear();
  }
  return lines;
}

function mark(item: Item): readonly string[] {
  return item.type === 'message' && item.interrupted === true ? [`user: ${INTERRUPTED}`] : [];
}

function itemLines(items: readonly Item[]): readonly string[] {
  return items.flatMap((item) => {
    switch (item.type) {
      case 'message':
        // An answer that was interrupted before its first text.
        if (item.interrupted === true && item.content.length === 0) return [];
        return [`${item.role}: ${textIn(item.content)}`];
      case 'reasoning':
        return [`thinking: ${item.text}`];
      case 'tool-call':
        return [`call ${item.callId}: ${item.name} ${item.arguments.trim() || '{}'}`];
      case 'tool-result':
        return [`result ${item.callId}: ${textIn(item.content)}`];
      default:
        return [];
    }
  });
}

import type { Item } from '../../src/llm/index.ts';
import type { PodEvent } from '../../src/pod/index.ts';
import { textIn } from './expected/pod.ts';

/** How a protocol shows a conversation. */
export interface Shown {
  /** Whether results are in the order in which calls ended; else in the order of the calls. */
  readonly asEnded: boolean;
  /** Whether it keeps what there is of an answer that broke off. */
  readonly hasBroken: boolean;
}

/** The conversation that a log adds up to, one text for each thing said, called or brought. */
export function conversationOf(log: readonly PodEvent[], { asEnded, hasBroken }: Shown): readonly string[] {
  const lines: string[] = [];
  const ended = new Set<string>();
  for (const event of log) {
    if (event.type === 'input') lines.push(...itemLines([event.item]));
    if (event.type === 'llm-end')
      lines.push(...itemLines(event.items), ...(hasBroken ? itemLines(event.broken ?? []) : []));
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

function itemLines(items: readonly Item[]): readonly string[] {
  return items.flatMap((item) => {
    switch (item.type) {
      case 'message':
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

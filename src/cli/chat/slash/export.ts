import type { PodHandle } from '../../../control/index.ts';
import type { Item } from '../../../llm/index.ts';
import { textOf } from '../view/answer-steps.ts';
import { snapshotOf } from '../view/current-snapshot.ts';

/** Renders the conversation as a Markdown document. */
export async function markdownOf(pod: PodHandle): Promise<string> {
  const { settings, id, items } = await snapshotOf(pod);
  return [`# ${settings.name ?? `Session ${id}`}`, ...items.flatMap(sectionsOf)].join('\n\n').concat('\n');
}

function sectionsOf(item: Item): readonly string[] {
  switch (item.type) {
    case 'message':
      if (item.automatic === true) return [];
      return [`## ${HEADINGS[item.role]}`, textOf(item.content)];
    case 'tool-call':
      return [`### ${item.name}`, fenced(item.arguments, 'json')];
    case 'tool-result':
      return [fenced(textOf(item.content), '')];
    default:
      return [];
  }
}

const HEADINGS = { user: 'Prompt', assistant: 'Answer', system: 'System' } as const;

/** A code block with a fence that is longer than any inside the text. */
function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text.trimEnd()}\n${fence}`;
}

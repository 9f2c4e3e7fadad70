import { numberOf, stringOf } from '../base/index.ts';
import type { ToolOutput } from './tool.ts';

/** How much of a text for the model was printed by the command, and what was cut off the end of that. */
export interface Printed {
  readonly printedLength: number;
  readonly trimmed: string;
}

/** What a command printed, without what the tool tells the model beside it; all there is of any other output. */
export function printedText({ content, details = {} }: Pick<ToolOutput, 'content' | 'details'>): string {
  const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('');
  const length = numberOf(details.printedLength);
  return length === undefined ? text : text.slice(0, length) + stringOf(details.trimmed);
}

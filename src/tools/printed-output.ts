import { numberOf, stringOf } from '../base/index.ts';
import type { ToolOutput } from './tool.ts';

/** How much of a text for the model was printed by the command, and what was cut off its end. */
export interface PrintedOutput {
  readonly printedLength: number;
  readonly trimmed: string;
}

/** Returns the output of a command without the tool's notes for the model; for other tools, all of the output. */
export function printedText({ content, details = {} }: Pick<ToolOutput, 'content' | 'details'>): string {
  const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('');
  const length = numberOf(details.printedLength);
  return length === undefined ? text : text.slice(0, length) + stringOf(details.trimmed);
}

import { PolypodError } from '../../base/index.ts';
import type { CommandContext } from '../command.ts';

/** Returns the prompt from the arguments; reads stdin if there are none or if the argument is `-`. */
export async function promptFrom(
  words: readonly string[],
  stdin: CommandContext['stdin'],
  example: string,
): Promise<string> {
  if (words.length === 0 && stdin.isTTY) {
    throw new PolypodError('bad-request', `the prompt is missing. Try: ${example}`);
  }
  const fromStdin = words.length === 0 || words.includes('-') ? await textIn(stdin) : '';
  const text =
    words.length === 0 ? fromStdin : words.map((word) => (word === '-' ? fromStdin : word)).join(' ');
  if (text.trim() === '')
    throw new PolypodError('bad-request', 'the prompt is empty: give it as an argument or on stdin');
  return text;
}

async function textIn(stdin: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of stdin) pieces.push(piece);
  return Buffer.concat(pieces).toString('utf8');
}

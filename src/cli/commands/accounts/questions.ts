import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { PolypodError } from '../../../base/index.ts';
import type { CommandContext } from '../../command.ts';

/** Asks for a line in the terminal; returns the default for an empty one. */
export async function askLine(
  question: string,
  fallback: string,
  { stdin, stderr, signal }: CommandContext,
): Promise<string> {
  const lines = createInterface({ input: stdin, output: stderr });
  try {
    const answer = await lines.question(`${question}${fallback === '' ? '' : ` [${fallback}]`}: `, {
      signal,
    });
    return answer.trim() || fallback;
  } finally {
    lines.close();
  }
}

/** Asks for a secret in the terminal without showing it. */
export async function askSecret(
  question: string,
  { stdin, stderr, signal }: CommandContext,
): Promise<string> {
  const hidden = new Writable({ write: (_bytes, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output: hidden, terminal: true });
  stderr.write(`${question} (not shown): `);
  try {
    return (await lines.question('', { signal })).trim();
  } finally {
    lines.close();
    stderr.write('\n');
  }
}

/** The key from a pipe: a file or the output of another program. */
export async function readPipedKey({ stdin }: CommandContext): Promise<string> {
  let text = '';
  stdin.setEncoding('utf8');
  for await (const piece of stdin) {
    text += String(piece);
    if (text.length > MAX_KEY) throw new PolypodError('bad-request', 'stdin has more than a key');
  }
  return text.trim();
}

const MAX_KEY = 64 * 1024;

import { open } from 'node:fs/promises';
import { objectOf, stringOf, tryParse } from '../../base/index.ts';

/**
 * Reads the newest summary of a conversation from the file in which Codex keeps the thread: the protocol does not report it.
 * Undefined if there is none, for example because the provider has encrypted it.
 */
export async function newestSummary(path: string): Promise<string | undefined> {
  try {
    const lines = (await endOf(path)).split('\n').toReversed();
    for (const line of lines) {
      if (!line.includes('"compacted"')) continue;
      const entry = objectOf(tryParse(line));
      const message = stringOf(objectOf(entry.payload).message);
      if (entry.type === 'compacted' && message !== '') return message.replace(PREFACE, '');
    }
  } catch {
    // The file is not part of the protocol.
  }
  return undefined;
}

async function endOf(path: string): Promise<string> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const length = Math.min(size, MAX_BYTES);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.subarray(0, bytesRead).toString('utf8');
  } finally {
    await file.close();
  }
}

/** Codex tells the model where the summary comes from. */
const PREFACE = /^Another language model [^\n]*:\n/;
const MAX_BYTES = 8 * 1024 * 1024;

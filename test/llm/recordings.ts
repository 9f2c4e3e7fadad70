import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type LlmEvent, type Provider, recordingDecoder, type Trace } from '../../src/llm/index.ts';
import { providers } from '../../src/registry.ts';

/** Our own fixtures, and recordings of real providers if they exist beside the project. */
export const OWN = 'test/llm/fixtures';
export const RECORDED = '../shared/streams';

export interface Recording {
  readonly provider: Provider;
  readonly file: string;
  readonly bytes: Uint8Array;
}

export function recordingsIn(folder: string): readonly Recording[] {
  return providers.flatMap((provider) => {
    const directory = join(folder, provider.name);
    if (!existsSync(directory)) return [];
    return readdirSync(directory)
      .filter((name) => /\.(?:jsonl|sse|chunks\.txt)$/.test(name))
      .map((name) => join(directory, name))
      .map((file) => ({ provider, file, bytes: readFileSync(file) }));
  });
}

export function decodeAll(
  provider: Provider,
  pieces: readonly Uint8Array[],
  onTrace?: (trace: Trace) => void,
): readonly LlmEvent[] {
  const decoder = recordingDecoder(provider, onTrace);
  return [...pieces.flatMap((piece) => decoder.push(piece)), ...decoder.end()];
}

/** The payloads of a recording, without its framing. */
export function payloadsOf({ file, bytes }: Recording): readonly string[] {
  const lines = new TextDecoder().decode(bytes).split('\n');
  if (!file.endsWith('.sse')) return lines.filter((line) => line !== '');
  return lines.filter((line) => line.startsWith('data: ')).map((line) => line.slice('data: '.length));
}

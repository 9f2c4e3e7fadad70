import { describe, expect, it } from 'vitest';
import type { Trace } from '../../src/llm/index.ts';
import { encodeSse } from '../../src/wire/index.ts';
import { everyByte } from '../wire/chunks.ts';
import { exchangesOf, expectBalanced } from './balance.ts';
import { decodeAll, OWN, payloadsOf, recordingsIn } from './recordings.ts';

describe.each(recordingsIn(OWN))('$file', (recording) => {
  const { provider, file, bytes } = recording;

  it('decodes to the events in the .events file', async () => {
    const traces: Trace[] = [];
    const events = decodeAll(provider, [bytes], (trace) => traces.push(trace));
    const lines = [...events, ...traces].map((event) => JSON.stringify(event)).join('\n');
    await expect(`${lines}\n`).toMatchFileSnapshot(`../../${file.replace(/\.jsonl$/, '.events')}`);
  });

  it('has balanced events', () => {
    for (const exchange of exchangesOf(decodeAll(provider, [bytes]))) expectBalanced(exchange);
  });

  it('decodes to the same events byte by byte', () => {
    expect(decodeAll(provider, everyByte(bytes))).toEqual(decodeAll(provider, [bytes]));
  });

  it('decodes to the same events when framed as server-sent events', () => {
    const stream = payloadsOf(recording).map((payload) => encodeSse(payload, 'name'));
    const framed = new TextEncoder().encode(`: keep-alive\n\n${stream.join(': again\n')}`);
    expect(decodeAll(provider, [framed])).toEqual(decodeAll(provider, [bytes]));
  });
});

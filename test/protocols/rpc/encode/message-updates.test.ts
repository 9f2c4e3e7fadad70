import { PassThrough } from 'node:stream';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { objectOf } from '../../../../src/base/index.ts';
import { GrowingMessage } from '../../../../src/protocols/rpc/encode/growing-message.ts';
import { MessageUpdates } from '../../../../src/protocols/rpc/encode/message-updates.ts';
import { Outbox } from '../../../../src/protocols/rpc/encode/outbox.ts';

/** The updates of one answer, with a clock that the test advances. */
function fixture() {
  const stream = new PassThrough();
  const lines: { message: unknown; assistantMessageEvent: unknown }[] = [];
  let rest = '';
  stream.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    lines.push(...parts.map((line) => JSON.parse(line) as (typeof lines)[number]));
  });
  const clock = { now: 0 };
  const updates = new MessageUpdates(new Outbox(stream), () => clock.now);
  const message = new GrowingMessage({ role: 'assistant', api: 'x' });
  message.start({ seq: 1, type: 'block-start', index: 4, blockType: 'text' });
  message.start({ seq: 2, type: 'block-start', index: 7, blockType: 'tool-use', id: 'c', name: 'ls' });
  updates.begin(message);
  return { updates, message, lines, clock, stream };
}

const TEXT = { contentIndex: 0, kind: 'text' } as const;
const CALL = { contentIndex: 1, kind: 'toolcall' } as const;

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

describe('updates of an answer', () => {
  it('in one turn of the event loop are merged', async () => {
    const { updates, lines } = fixture();
    for (const text of ['a', 'b', 'c']) updates.delta(TEXT, text, 9);
    await turns(3);
    const message = {
      role: 'assistant',
      content: [
        { type: 'text', text: 'abc' },
        { type: 'toolCall', id: 'c', name: 'ls', arguments: {}, partialJson: '' },
      ],
      api: 'x',
    };
    const assistantMessageEvent = { type: 'text_delta', contentIndex: 0, delta: 'abc', partial: message };
    expect(lines).toEqual([{ type: 'message_update', message, assistantMessageEvent, seq: 9 }]);
  });

  it('of interleaved blocks are merged per block', async () => {
    const { updates, lines } = fixture();
    for (const piece of ['1', '2', '3']) {
      updates.delta(TEXT, piece, 9);
      updates.delta(CALL, piece, 9);
    }
    await turns(3);
    expect(lines.map((line) => objectOf(line.assistantMessageEvent))).toMatchObject([
      { type: 'text_delta', contentIndex: 0, delta: '123' },
      { type: 'toolcall_delta', contentIndex: 1, delta: '123' },
    ]);
  });

  it('are delayed by the size of the last one, and flushed before another event', async () => {
    // The wait must not end while a busy machine is slow.
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { updates, lines } = fixture();
    updates.delta(TEXT, 'x'.repeat(1_000_000), 9);
    await turns(3);
    expect(lines).toHaveLength(1);
    updates.delta(TEXT, 'more', 9);
    await turns(10);
    expect(lines).toHaveLength(1);
    updates.flush();
    await turns(3);
    expect(lines).toHaveLength(2);
  });

  it('wait for a client that has not read the last one', async () => {
    const { updates, lines, stream } = fixture();
    stream.pause();
    updates.delta(TEXT, 'x'.repeat(100_000), 9);
    await turns(3);
    const unread = stream.readableLength + stream.writableLength;
    for (let count = 0; count < 100; count += 1) {
      updates.delta(TEXT, 'y', 9);
      await turns(1);
    }
    expect(stream.readableLength + stream.writableLength).toBe(unread);
    stream.resume();
    updates.end();
    await turns(3);
    const deltas = lines.map((line) => objectOf(line.assistantMessageEvent).delta).join('');
    expect(deltas).toBe('x'.repeat(100_000) + 'y'.repeat(100));
  });

  it('show a completed block in its final form', () => {
    const { message } = fixture();
    message.grow(1, '{"path":');
    message.grow(1, '"."}');
    expect(message.at(7)).toEqual({ contentIndex: 1, kind: 'toolcall' });
    expect(message.finish(1)).toEqual({ type: 'toolCall', id: 'c', name: 'ls', arguments: { path: '.' } });
    expect(JSON.parse(message.json())).toMatchObject({ content: [{}, { arguments: { path: '.' } }] });
    expect(message.broken()).toEqual([]);
  });
});

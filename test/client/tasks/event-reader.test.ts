import fc from 'fast-check';
import { expect, it } from 'vitest';
import { EventReader } from '../../../src/client/tasks/event-reader.ts';

const WIRE = [
  'retry: 2000\n\n',
  'id: 1.0\nevent: run_start\ndata: {"event":"run_start","data":{"run_id":"r"},"seq":1}\n\n',
  ': keep-alive\n\n',
  'id: 2.0\ndata: {"event":"text_delta",\ndata: "data":{"text":"日本語 ✓"},"seq":2}\n\n',
  'event: error\ndata: {"event":"error","data":{"code":"ended"}}\n\n',
].join('');

const EVENTS = [
  { id: '1.0', event: 'run_start', data: { run_id: 'r' }, seq: 1 },
  { id: '2.0', event: 'text_delta', data: { text: '日本語 ✓' }, seq: 2 },
  { event: 'error', data: { code: 'ended' } },
];

const read = (pieces: readonly Uint8Array[]) => {
  const reader = new EventReader();
  return pieces.flatMap((piece) => [...reader.push(piece)]);
};

it('parses events with their ids for any chunking', () => {
  const bytes = Buffer.from(WIRE);
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(bytes.length), { maxLength: 12 }), (cuts) => {
      const offsets = [0, ...cuts.toSorted((one, other) => one - other), bytes.length];
      const pieces = offsets.slice(1).map((end, index) => bytes.subarray(offsets[index], end));
      expect(read(pieces)).toEqual(EVENTS);
    }),
  );
});

it('parses lines that end with CRLF', () => {
  expect(read([Buffer.from(WIRE.replaceAll('\n', '\r\n'))])).toEqual(EVENTS);
});

it('ignores an incomplete event, because it is sent again', () => {
  expect(read([Buffer.from(WIRE.slice(0, -1))])).toEqual(EVENTS.slice(0, -1));
});

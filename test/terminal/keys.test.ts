import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chord, type Key, KeyDecoder } from '../../src/terminal/index.ts';

function keys(...pieces: readonly (string | Uint8Array)[]): Key[] {
  const decoder = new KeyDecoder();
  const decoded = pieces.flatMap((piece) => decoder.push(Buffer.from(piece)));
  return [...decoded, ...decoder.flush()];
}

const chords = (text: string) => keys(text).map((key) => (key.type === 'chord' ? key.chord : key));

describe('the key decoder', () => {
  it.each([
    ['\r', 'enter'],
    ['\n', 'ctrl-j'],
    ['\t', 'tab'],
    ['\u007f', 'backspace'],
    ['\u0001', 'ctrl-a'],
    ['\u001f', 'ctrl-_'],
    ['\u001b', 'escape'],
    ['\u001b\r', 'alt-enter'],
    ['\u001b\u007f', 'alt-backspace'],
    ['\u001bb', 'alt-b'],
    ['\u001b[A', 'up'],
    ['\u001bOA', 'up'],
    ['\u001b[1;5C', 'ctrl-right'],
    ['\u001b[1;3D', 'alt-left'],
    ['\u001b[H', 'home'],
    ['\u001b[4~', 'end'],
    ['\u001b[3~', 'delete'],
    ['\u001b[3;5~', 'ctrl-delete'],
    ['\u001b[Z', 'shift-tab'],
    ['\u001b[13;2u', 'shift-enter'],
    ['\u001b[27;2;13~', 'shift-enter'],
    ['\u001b[13;3u', 'alt-enter'],
    ['\u001b[27u', 'escape'],
    ['\u001b[99;5u', 'ctrl-c'],
    ['\u001b[', 'alt-['],
  ])('%j is %s', (bytes, chord) => {
    expect(chords(bytes)).toEqual([chord]);
  });

  it('distinguishes escape from sequences', () => {
    expect(chords('\u001b\u001b[A')).toEqual(['escape', 'up']);
    expect(chords('\u001b\u001b')).toEqual(['escape', 'escape']);
  });

  it('decodes the focus of the window, which is not a key on the keypad', () => {
    expect(keys('\u001b[I\u001b[O')).toEqual([chord('focus-in'), chord('focus-out')]);
    expect(keys('\u001bOI')).toEqual([]);
  });

  it('ignores key releases and terminal responses', () => {
    expect(keys('\u001b[97;1:3u\u001b[?62;4c\u001b[5;10R\u001b[57358u')).toEqual([]);
  });

  it('decodes a shifted letter of the longer encodings as text', () => {
    expect(keys('\u001b[97;2u\u001b[27;2;98~\u001b[99u')).toEqual([
      { type: 'text', text: 'A' },
      { type: 'text', text: 'B' },
      { type: 'text', text: 'c' },
    ]);
  });

  it('returns a paste as one key, with any content', () => {
    const text = 'line\r\n\u001b[A 語 \u001b[201';
    expect(keys(`a\u001b[200~${text}\u001b[201~b`)).toEqual([
      { type: 'text', text: 'a' },
      { type: 'paste', text },
      { type: 'text', text: 'b' },
    ]);
    expect(keys('\u001b[200~\u001b[201~')).toEqual([{ type: 'paste', text: '' }]);
  });

  it('returns the same keys for any chunking', () => {
    const part = fc.constantFrom(
      'a',
      '語',
      '👩‍💻',
      'é',
      '\r',
      '\u0017',
      '\u001b[A',
      '\u001bOB',
      '\u001b\r',
      '\u001b[13;2u',
      '\u001b[200~x\ny 字\u001b[201~',
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), fc.array(fc.nat(200)), (parts, cuts) => {
        const bytes = Buffer.from(parts.join(''));
        const offsets = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].toSorted(
          (a, b) => a - b,
        );
        const pieces = offsets.slice(1).map((end, index) => bytes.subarray(offsets[index], end));
        expect(joined(keys(...pieces))).toEqual(joined(keys(bytes)));
      }),
    );
  });
});

/** Merges adjacent text keys. */
function joined(decoded: readonly Key[]): Key[] {
  return decoded.reduce<Key[]>((all, key) => {
    const last = all.at(-1);
    if (key.type !== 'text' || last?.type !== 'text') return [...all, key];
    return [...all.slice(0, -1), { type: 'text', text: last.text + key.text }];
  }, []);
}

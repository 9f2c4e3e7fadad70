import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { partialObject } from '../../../../src/protocols/rpc/encode/partial-json.ts';

describe('an incomplete JSON text', () => {
  it.each([
    ['', {}],
    ['{', {}],
    ['{"pa', {}],
    ['{"path"', {}],
    ['{"path":', {}],
    ['{"path":"/a', { path: '/a' }],
    ['{"path":"/a"', { path: '/a' }],
    ['{"path":"/a","lim', { path: '/a' }],
    ['{"path":"/a","limit":1', { path: '/a' }],
    ['{"path":"/a","limit":12}', { path: '/a', limit: 12 }],
    ['{"on":tr', {}],
    ['{"on":true,"off":null,', { on: true, off: null }],
    ['{"edits":[{"old":"a","new":"b"},{"old":"c', { edits: [{ old: 'a', new: 'b' }, { old: 'c' }] }],
    ['{"list":[1,2', { list: [1] }],
    ['{"list":[]', { list: [] }],
    ['{"text":"one\\ntwo\\', { text: 'one\ntwo' }],
    ['{"text":"\\u00e', { text: '' }],
    ['{"text":"\\u00e9', { text: 'é' }],
    ['{"text":"\\ud83d', { text: '' }],
    ['{"text":"\\ud83d\\ude00', { text: '😀' }],
    [' { "a" : "b" , ', { a: 'b' }],
  ])('%s', (text, value) => {
    expect(partialObject(text)).toEqual(value);
  });

  it.each(['[1,2', '"text', 'nonsense', '{"a":nonsense,', '{a:1}', '}'])(
    'that does not start an object yields an empty one: %s',
    (text) => {
      expect(partialObject(text)).toEqual({});
    },
  );

  it('has "__proto__" as a key like any other', () => {
    const value = partialObject('{"__proto__":{"x":1},');
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.keys(value)).toEqual(['__proto__']);
  });

  it('can be nested to any depth', () => {
    expect(partialObject('{"a":'.repeat(100_000))).toMatchObject({ a: { a: {} } });
    expect(partialObject(`{"a":${'['.repeat(100_000)}`)).toHaveProperty('a[0][0]');
  });

  it('can contain long strings', () => {
    const text = 'a\\"\n'.repeat(500_000);
    expect(partialObject(JSON.stringify({ text }).slice(0, -2))).toEqual({ text });
  });

  it('never throws, and yields the complete value once it is complete', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), fc.nat(), (value, cut) => {
        const text = JSON.stringify(value);
        partialObject(text.slice(0, cut % (text.length + 1)));
        expect(partialObject(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  it('only grows: every prefix is part of the final value', () => {
    const text = JSON.stringify({
      path: '/a/b',
      edits: [{ old: 'one "two"', lines: [1, 22, 333] }],
      dry: true,
    });
    const values = Array.from({ length: text.length + 1 }, (_, end) => partialObject(text.slice(0, end)));
    for (const [at, value] of values.entries()) {
      const next = values[at + 1];
      if (next !== undefined) expect(isBeginningOf(value, next), text.slice(0, at)).toBe(true);
    }
  });
});

function isBeginningOf(one: unknown, other: unknown): boolean {
  if (typeof one === 'string') return typeof other === 'string' && other.startsWith(one);
  if (typeof one !== 'object' || one === null) return one === other;
  return Object.entries(one).every(([key, value]) =>
    isBeginningOf(value, (other as Record<string, unknown>)[key]),
  );
}

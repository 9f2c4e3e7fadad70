import { describe, expect, test } from 'vitest';
import { truncateContent } from '../../src/mcp/tools/output.ts';
import { readResult } from '../../src/mcp/tools/result.ts';

const PNG = { type: 'image', mimeType: 'image/png', data: 'iVBORw0=' };
const IMAGE = { type: 'image', mediaType: 'image/png', data: 'iVBORw0=' };

describe('an answer', () => {
  test.each([
    ['text', [{ type: 'text', text: 'a' }], ['a']],
    [
      'texts',
      [
        { type: 'text', text: 'a' },
        { type: 'text', text: ' ' },
        { type: 'text', text: 'b' },
      ],
      ['a\nb'],
    ],
    [
      'an image between texts',
      [{ type: 'text', text: 'a' }, PNG, { type: 'text', text: 'b' }],
      ['a', IMAGE, 'b'],
    ],
    [
      'an image with a misspelt type',
      [{ ...PNG, mimeType: 'image/jpg' }],
      [{ ...IMAGE, mediaType: 'image/jpeg' }],
    ],
    ['an image with line breaks', [{ ...PNG, data: 'iVBO\nRw0=\n' }], [IMAGE]],
    [
      'a drawing',
      [{ ...PNG, mimeType: 'image/svg+xml' }],
      ['[image of type image/svg+xml, 6 bytes, not shown]'],
    ],
    ['a broken image', [{ ...PNG, data: '<png>' }], ['[image of type image/png, 3 bytes, not shown]']],
    ['an empty image', [{ type: 'image' }], ['[image of type unknown, 0 bytes, not shown]']],
    [
      'sound',
      [{ type: 'audio', mimeType: 'audio/wav', data: 'AAAA' }],
      ['[audio of type audio/wav, 3 bytes, not shown]'],
    ],
    [
      'a text resource',
      [{ type: 'resource', resource: { uri: 'file:///a', text: 'b' } }],
      ['[resource file:///a]\nb'],
    ],
    [
      'an image resource',
      [{ type: 'resource', resource: { uri: 'x:y', mimeType: 'image/png', blob: 'iVBORw0=' } }],
      [IMAGE],
    ],
    [
      'a binary resource',
      [{ type: 'resource', resource: { uri: 'x:y', mimeType: 'application/gzip', blob: 'AAAA' } }],
      ['[resource x:y: data of type application/gzip, 3 bytes, not shown]'],
    ],
    [
      'a link',
      [{ type: 'resource_link', uri: 'x:y', name: 'n', description: 'd', mimeType: 'text/plain' }],
      ['[link to x:y, n, d, text/plain]'],
    ],
    [
      'unknown content',
      [{ type: 'hologram' }, null, 5],
      [unknown('"hologram"'), unknown('"none"'), unknown('"none"')].join('\n'),
    ],
  ])('that contains %s', (_, content, expected) => {
    expect(readResult({ content })).toEqual({
      content: [expected]
        .flat()
        .map((part) => (typeof part === 'string' ? { type: 'text', text: part } : part)),
      isError: false,
      structured: undefined,
    });
  });

  test('reports an error', () => {
    expect(readResult({ content: [], isError: true })).toMatchObject({ isError: true });
    expect(readResult({ content: [], isError: 'no' })).toMatchObject({ isError: false });
  });

  test('returns structured data as text only if there is no other text', () => {
    const structuredContent = { a: [1] };
    expect(readResult({ structuredContent })).toEqual({
      content: [{ type: 'text', text: '{\n  "a": [\n    1\n  ]\n}' }],
      isError: false,
      structured: structuredContent,
    });
    expect(readResult({ structuredContent, content: [{ type: 'text', text: 'a: 1' }] })).toEqual({
      content: [{ type: 'text', text: 'a: 1' }],
      isError: false,
      structured: structuredContent,
    });
  });

  test.each([undefined, null, 5, 'text', []])('that is %j is empty', (answer) => {
    expect(readResult(answer)).toEqual({ content: [], isError: false, structured: undefined });
  });
});

test('content is truncated at the limit, but not inside a character', () => {
  const text = (value: string) => ({ type: 'text', text: value }) as const;
  const image = { type: 'image', mediaType: 'image/png', data: 'a' } as const;
  expect(
    truncateContent([text('abcd'), image, text('😀😀'), image, text('z')], { text: 7, images: 1 }),
  ).toEqual({
    kept: [text('abcd'), image, text('😀')],
    omitted: { text: 3, images: 1 },
  });
});

function unknown(type: string): string {
  return `[content of unknown type ${type}]`;
}

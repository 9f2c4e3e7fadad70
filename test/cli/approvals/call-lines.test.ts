import { describe, expect, it } from 'vitest';
import { callPreview, callLines } from '../../../src/cli/output/call-lines.ts';
import { indentedLines } from '../../../src/cli/output/indented-lines.ts';

const lines = (input: object): readonly string[] =>
  callLines({ title: 'a title', arguments: JSON.stringify(input) });

describe('the lines of a call', () => {
  it.each([
    ['a short argument', { command: 'ls' }, ['command: ls']],
    ['several', { command: 'ls', timeout: 5 }, ['command: ls', 'timeout: 5']],
    [
      'a text of several lines',
      { command: 'touch z1\nrm -rf important', timeout: 5 },
      ['command:', '  touch z1', '  rm -rf important', 'timeout: 5'],
    ],
    ['a list', { edits: ['a\nb'] }, ['edits:', '  [', '    "a\\nb"', '  ]']],
    ['a carriage return, which hides nothing', { command: 'rm x\rls' }, ['command: rm x␍ls']],
    ['an escape sequence', { command: 'a\u001b[2Jb' }, ['command: a␛[2Jb']],
    ['a name with a line end', { 'a\nb': 'c' }, ['a␊b: c']],
    ['nothing', {}, ['without arguments']],
  ])('give %s', (_, input, expected) => {
    expect(lines(input)).toEqual(expected);
  });

  it('are never truncated', () => {
    const command = 'x'.repeat(50_000);
    expect(lines({ command })).toEqual([`command: ${command}`]);
  });

  it('print invalid JSON unchanged, and report unknown arguments', () => {
    expect(callLines({ title: 'a title', arguments: 'rm\n-rf' })).toEqual(['rm', '-rf']);
    expect(callLines({ title: 'a title' })).toEqual([
      'a title',
      expect.stringContaining('its arguments are not available here'),
    ]);
  });
});

describe('a short view of a call', () => {
  const shortLines = (command: string): readonly string[] =>
    callPreview({ title: 'a title', arguments: JSON.stringify({ command }) }, 'show ID');

  it('shows all of it if it is short enough', () => {
    const command = `${'a'.repeat(2_000)}\nrm -rf important`;
    expect(shortLines(command)).toEqual(lines({ command }));
  });

  it.each([
    ['a long line', 'x'.repeat(10_000)],
    ['many lines', 'x\n'.repeat(5_000)],
  ])('of %s shows how many characters are omitted and how to see them', (_, command) => {
    const shown = shortLines(command);
    const fullText = lines({ command }).join('\n');
    const left = fullText.length - shown.slice(0, -1).join('\n').length;
    expect(shown.at(-1)).toBe(`… ${left} more characters are not shown here: show ID`);
    expect(fullText.startsWith(shown.slice(0, -1).join('\n'))).toBe(true);
    expect(shown.join('\n').length).toBeLessThan(4_200);
  });
});

it('lines below another line are indented, also when a terminal wraps them', () => {
  expect(indentedLines(['abcdefgh', '', '日本語'], 6)).toEqual(['  abcd', '  efgh', '  ', '  日本', '  語']);
  expect(indentedLines(['abcdefgh'], undefined)).toEqual(['  abcdefgh']);
});

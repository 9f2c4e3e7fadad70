import * as fc from 'fast-check';
import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { edit } from '../../src/tools/edit.ts';
import { applyEdits } from '../../src/tools/text/edit-text.ts';
import { callTool, invalidText, toolFixture, outputText } from './fixture.ts';

const CODE = `function one() {
  return 1;
}

function two() {
  return 2;
}
`;

/** Returns the file after the edit, or the error. */
async function edited(content: string, input: object): Promise<string> {
  const fixture = toolFixture({ 'a.ts': content });
  const output = await fixture.call(edit, { path: 'a.ts', ...input });
  if (output.isError) expect(fixture.text('a.ts')).toBe(content);
  return output.isError ? outputText(output) : fixture.text('a.ts');
}

describe('an edit', () => {
  test('replaces text that occurs once, and returns the diff', async () => {
    const fixture = toolFixture({ 'a.ts': CODE });
    const output = await fixture.call(edit, { path: 'a.ts', old: 'return 2', new: 'return 3' });
    expect(output).toEqual({
      summary: 'Edited a.ts: 1 replacement, +1 -1',
      content: [{ type: 'text', text: 'Edited a.ts: 1 replacement, +1 -1.' }],
      isError: false,
      details: {
        diff: '--- a/a.ts\n+++ b/a.ts\n@@ -3,5 +3,5 @@\n }\n \n function two() {\n-  return 2;\n+  return 3;\n }\n',
        added: 1,
        removed: 1,
        replaced: 1,
      },
    });
    expect(fixture.text('a.ts')).toBe(CODE.replace('return 2', 'return 3'));
  });

  test('removes text, and inserts special characters literally', async () => {
    expect(await edited('a $& b', { old: '$&', new: "$1 $' \\n" })).toBe("a $1 $' \\n b");
    expect(await edited('one two', { old: ' two', new: '' })).toBe('one');
  });

  test('replaces every occurrence on request', async () => {
    expect(await edited('aXbXcX', { old: 'X', new: 'XX', all: true })).toBe('aXXbXXcXX');
  });

  test('applies several changes in order, all or none', async () => {
    const edits = [
      { old: 'one', new: 'first' },
      { old: 'first()', new: 'first(x)' },
    ];
    expect(await edited(CODE, { edits })).toContain('function first(x) {');
    expect(await edited(CODE, { edits: [...edits, { old: 'three', new: '3' }] })).toMatch(
      /^a\.ts was not changed: edit 3 of 3: old is not in the file/,
    );
  });

  test('keeps CRLF line endings and a byte order mark, though it is written with line feeds', async () => {
    expect(await edited('\ufeffone\r\ntwo\r\nthree\r\n', { old: 'one\ntwo\n', new: '1\n2\n2b\n' })).toBe(
      '\ufeff1\r\n2\r\n2b\r\nthree\r\n',
    );
    expect(await edited('one\r\ntwo\r\n', { old: '\ntwo', new: '\n2\nmore' })).toBe('one\r\n2\r\nmore\r\n');
    expect(await edited('one\r\ntwo', { old: 'one\r\ntwo', new: '1\r\n2' })).toBe('1\r\n2');
  });

  test('keeps lines with other endings', async () => {
    const mixed = 'a\nb\r\nc\nd\r\n';
    expect(await edited(mixed, { old: 'c', new: 'C\nC' })).toBe('a\nb\r\nC\r\nC\nd\r\n');
    expect(await edited(mixed, { old: 'c\nd', new: 'x\ny' })).toBe('a\nb\r\nx\ny\r\n');
    expect(await edited(mixed, { old: 'a\nb', new: 'x\ny' })).toBe('x\ny\r\nc\nd\r\n');
  });
});

describe('a failed edit reports the reason', () => {
  test('if the text occurs more than once', async () => {
    expect(await edited(CODE, { old: 'return', new: 'yield' })).toBe(
      'a.ts was not changed: old is in the file 2 times, at lines 2, 6. Add lines around it until it is unique, or set all to true.',
    );
    expect(await edited('x\n'.repeat(50), { old: 'x', new: 'y' })).toContain(
      '50 times, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 ….',
    );
  });

  test('if nothing similar is in the file', async () => {
    expect(await edited(CODE, { old: 'import { x } from "y";', new: '' })).toBe(
      'a.ts was not changed: old is not in the file, nor anything like it. Read the file again and copy the text exactly.',
    );
    expect(await edited('', { old: 'x', new: 'y' })).toContain('the file is empty');
  });

  test('if the indentation differs', async () => {
    expect(await edited(CODE, { old: 'function two() {\n    return 2;\n}', new: '' })).toBe(
      'a.ts was not changed: old is not in the file. At lines 5-7 it differs in indentation only:\n5\tfunction two() {\n6\t  return 2;\n7\t}\nCopy the text exactly as it is there.',
    );
    expect(await edited('if (x) {\n\ty();\n}\n', { old: '  y();', new: '' })).toContain(
      'At line 2 it differs in indentation (tabs and spaces) only',
    );
  });

  test('if spaces at the end of lines or inside differ', async () => {
    expect(await edited('one  \ntwo\n', { old: 'one\ntwo', new: '' })).toContain(
      'spaces at the end of lines',
    );
    expect(await edited('f(a,  b)\n', { old: 'f(a, b)', new: '' })).toContain('differs in white space only');
  });

  test('if only some lines are the same', async () => {
    expect(await edited(CODE, { old: 'function two() {\n  return 22;\n}', new: '' })).toContain(
      'The most similar location is at lines 5-7; the first difference is in line 6:\n5\tfunction two() {\n6\t  return 2;\n7\t}\n',
    );
    expect(await edited(CODE, { old: 'function twos() {', new: '' })).toContain(
      'The most similar location is at line 5;',
    );
  });

  test('if it contains the line numbers that read shows', async () => {
    expect(await edited(CODE, { old: '5\tfunction two() {\n6\t  return 2;', new: '' })).toContain(
      'the line numbers that read shows',
    );
  });

  test('if there is nothing to change', async () => {
    expect(await edited(CODE, { old: 'one', new: 'one' })).toContain('old and new are the same');
    expect(await edited('a\r\nb', { old: 'a\r\nb', new: 'a\nb' })).toContain('only in their line endings');
  });

  test('if the file cannot be edited', async () => {
    const fixture = toolFixture({ 'src/button.ts': '', 'a.bin': Buffer.from([0, 1]), 'dir/': '' });
    const why = async (path: string) => outputText(await fixture.call(edit, { path, old: 'a', new: 'b' }));
    expect(await why('src/buton.ts')).toBe('src/buton.ts does not exist. Did you mean src/button.ts?');
    expect(await why('none/a.ts')).toBe('none/a.ts does not exist. Use ls or find to see what is there.');
    expect(await why('a.bin')).toBe('a.bin is a binary file; edit changes UTF-8 text only. Use bash.');
    expect(await why('dir')).toBe('dir is a directory. Name a file in it; ls shows them.');
  });

  test('if another process changes the file at the same moment', async () => {
    const fixture = toolFixture({ 'a.ts': CODE });
    const signal = new AbortController().signal;
    // The check of the signal is the last step before the file is replaced.
    let checks = 0;
    signal.throwIfAborted = () => {
      checks += 1;
      writeFileSync(fixture.path('a.ts'), `${CODE}// ${checks}\n`);
    };
    const output = await callTool(edit, { path: 'a.ts', old: 'one', new: '1' }, fixture.context, signal);
    expect(output).toMatchObject({ isError: true });
    expect(outputText(output)).toContain('changed by another process');
    expect(fixture.text('a.ts')).toBe(`${CODE}// ${checks}\n`);
  });
});

test('the arguments are one edit or a list of them', () => {
  expect(invalidText(edit, { path: 'a', old: 'x', new: 'y', all: true })).toBeUndefined();
  expect(invalidText(edit, { path: 'a', edits: [{ old: 'x', new: 'y' }] })).toBeUndefined();
  expect(invalidText(edit, { path: 'a', old: 'x' })).toContain('needs old and new, or edits');
  expect(invalidText(edit, { path: 'a', edits: [] })).toContain('needs at least one edit');
  expect(invalidText(edit, { path: 'a', old: 'x', new: 'y', edits: [] })).toContain('not both');
  expect(invalidText(edit, { path: 'a', old: '', new: 'y' })).toContain('old: must not be empty');
  expect(edit.prepare({ path: 'a', old: 'x', new: 'y' }, '/w')).toMatchObject({
    access: [
      { type: 'read', path: '/w/a' },
      { type: 'write', path: '/w/a' },
    ],
    title: 'edit a',
  });
});

describe('any edit', () => {
  const text = fc.string({
    unit: fc.constantFrom('a', 'b', ' ', '\n', '\r\n', '\t', '語', '\r'),
    maxLength: 60,
  });
  const word = fc.string({ unit: fc.constantFrom('x', 'y', '\n', '語'), minLength: 1, maxLength: 8 });

  test('is undone by its inverse, whatever the line endings', () => {
    fc.assert(
      fc.property(text, text, word, word, (before, after, old, now) => {
        fc.pre(old !== now);
        const content = `${before}<<${old.replaceAll('\n', before.includes('\r\n') ? '\r\n' : '\n')}>>${after}`;
        fc.pre(content.split('<<').length === 2);
        // In a file with uniform line breaks, new text gets the same ones.
        const ending = content.includes('\r\n') ? '\r\n' : '\n';
        const uniform = content.replaceAll(/\r?\n/g, ending);
        const there = applyEdits(uniform, [{ old: `<<${old}>>`, new: `<<${now}>>`, all: false }]);
        if (there.type === 'failed') throw new Error(there.why);
        fc.pre(there.text.includes('\r\n') === uniform.includes('\r\n'));
        const back = applyEdits(there.text, [{ old: `<<${now}>>`, new: `<<${old}>>`, all: false }]);
        expect(back).toEqual({ type: 'done', text: uniform, replaced: 1 });
      }),
      { numRuns: 500 },
    );
  });
});

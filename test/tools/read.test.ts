import { execFileSync } from 'node:child_process';
import { renameSync, symlinkSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { read } from '../../src/tools/read.ts';
import { callTool, invalidText, makePipe, toolFixture, temporaryDirectory, outputText } from './fixture.ts';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

async function readText(content: string | Uint8Array, range: object = {}): Promise<string> {
  const output = await toolFixture({ 'a.txt': content }).call(read, { path: 'a.txt', ...range });
  return `${output.isError ? 'error: ' : ''}${outputText(output)}`;
}

describe('read returns a text file', () => {
  test('with a number and a tab before each line', async () => {
    const output = await toolFixture({ 'a.txt': 'one\n\tthree\n' }).call(read, { path: 'a.txt' });
    expect(output).toEqual({
      summary: 'a.txt: 2 lines',
      content: [{ type: 'text', text: '1\tone\n2\t\tthree' }],
      isError: false,
      details: { firstLine: 1, lastLine: 2, lines: 2 },
    });
  });

  test('from a given line, for a number of lines', async () => {
    const content = Array.from({ length: 10 }, (_, index) => `line ${index + 1}\n`).join('');
    expect(await readText(content, { offset: 4, limit: 2 })).toBe(
      '4\tline 4\n5\tline 5\n[lines 4-5 of 10; continue with offset 6]',
    );
    expect(await readText(content, { offset: 9 })).toBe('9\tline 9\n10\tline 10');
    expect(await readText(content, { offset: 0, limit: 1 })).toContain('1\tline 1\n');
    expect(await readText(content, { offset: '9', limit: '1' })).toContain('9\tline 9\n');
  });

  test('with an error past its end', async () => {
    expect(await readText('one\ntwo', { offset: 5 })).toBe('error: a.txt has 2 lines; there is no line 5.');
  });

  test('in part if it is long, with a note how to continue', async () => {
    const lines = (await readText('x\n'.repeat(5_000))).split('\n');
    expect(lines).toHaveLength(2_001);
    expect(lines.at(-1)).toBe('[lines 1-2000 of 5000; continue with offset 2001]');
  });

  test('up to 256 KB', async () => {
    const text = await readText(`${'x'.repeat(1_000)}\n`.repeat(1_000));
    expect(text.length).toBeLessThan(265_000);
    expect(text).toMatch(/\[lines 1-262 of 1000; continue with offset 263\]$/);
  });

  test('with long lines cut, never inside a character', async () => {
    const text = await readText(`${'日本語'.repeat(1_000)}\nshort\n`);
    expect(text).toBe(`1\t${'日本語'.repeat(444)}日 … [line cut]\n2\tshort`);
  });

  test('without its byte order mark and carriage returns', async () => {
    expect(await readText('\ufeffone\r\ntwo\r\n')).toBe(
      '1\tone\n2\ttwo\n[the lines end with CRLF; edit keeps that]',
    );
  });

  test('if its last line has no line break', async () => {
    expect(await readText('one\ntwo')).toBe('1\tone\n2\ttwo');
    expect(await readText('\n')).toBe('1\t');
  });

  test('with a note if it is empty', async () => {
    expect(await readText('')).toBe('a.txt is an empty file.');
    expect(await readText('\ufeff')).toBe('a.txt is an empty file.');
  });

  test('if its reported size is 0', async () => {
    const fixture = toolFixture({}, { resolve: async (path) => path });
    expect(outputText(await fixture.call(read, { path: '/proc/self/status' }))).toContain('Name:');
  });

  test('of 100 MB in fixed memory, and without counting what follows', async () => {
    const fixture = toolFixture();
    execFileSync('sh', ['-c', `yes 0123456789 | head -c 100000000 > ${fixture.path('big.txt')}`]);
    const output = await fixture.call(read, { path: 'big.txt', offset: 1_000, limit: 2 });
    expect(outputText(output)).toBe(
      '1000\t0123456789\n1001\t0123456789\n[lines 1000-1001; continue with offset 1002]',
    );
    expect(output.details).toEqual({ firstLine: 1_000, lastLine: 1_001 });
  });
});

describe('an image', () => {
  test('is returned, whatever its name', async () => {
    const output = await toolFixture({ 'a.txt': PNG }).call(read, { path: 'a.txt' });
    expect(output).toEqual({
      summary: 'a.txt: image/png, 70 B',
      content: [
        { type: 'text', text: 'a.txt: image/png, 70 B' },
        { type: 'image', mediaType: 'image/png', data: PNG.toString('base64') },
      ],
      isError: false,
      details: { mediaType: 'image/png', bytes: 70 },
    });
  });

  test.each([
    ['image/jpeg', '\u00ff\u00d8\u00ff\u00e0 more'],
    ['image/gif', 'GIF89a\u0001\u0000'],
    ['image/webp', 'RIFF\u0010\u0000\u0000\u0000WEBPVP8 '],
  ])('of type %s is detected by its first bytes', async (mediaType, start) => {
    expect(await readText(Buffer.from(start, 'latin1'))).toContain(`<${mediaType}>`);
  });

  test('that is too large for a model is rejected with a hint', async () => {
    expect(await readText(Buffer.concat([PNG, Buffer.alloc(4_000_000)]))).toBe(
      'error: a.txt is an image larger than 3.8 MB, which models do not accept. Make a smaller copy with bash first.',
    );
  });
});

describe('what cannot be read is rejected with the next step', () => {
  test('a binary file', async () => {
    const why =
      'error: a.txt is a binary file (4 B); read shows text and images only. Use bash with a program that knows its format, or with file or xxd.';
    expect(await readText(Buffer.from([0x7f, 0x45, 0, 1]))).toBe(why);
    expect(await readText(Buffer.from([0x61, 0xc3, 0x28, 0x0a]))).toBe(why);
    expect(await readText(Buffer.from([0x61, 0x62, 0x63, 0xc3]))).toBe(why);
  });

  test('binary content far from the start', async () => {
    const content = Buffer.concat([Buffer.from('text\n'.repeat(20_000)), Buffer.from([0, 1, 2])]);
    expect(await readText(content, { offset: 20_001 })).toContain('is a binary file');
  });

  test('a directory', async () => {
    const output = await toolFixture({ 'src/': '' }).call(read, { path: 'src' });
    expect(outputText(output)).toBe('src is a directory. Use ls to see its entries, or find to search it.');
    expect(output.isError).toBe(true);
  });

  test('a pipe, without waiting for a writer', async () => {
    const fixture = toolFixture();
    makePipe(fixture.path('pipe'));
    expect(outputText(await fixture.call(read, { path: 'pipe' }))).toContain('is not a regular file');
  });

  test('a missing file, with a similar name', async () => {
    const fixture = toolFixture({ 'src/button.ts': '' });
    expect(outputText(await fixture.call(read, { path: 'src/buton.ts' }))).toBe(
      'src/buton.ts does not exist. Did you mean src/button.ts?',
    );
    expect(outputText(await fixture.call(read, { path: 'nothing.md' }))).toBe(
      'nothing.md does not exist. Use ls or find to see what is there.',
    );
    expect(outputText(await fixture.call(read, { path: 'src/button.ts/x' }))).toContain(
      'is a file, not a directory',
    );
  });

  test('a file outside the allowed directory', async () => {
    const output = await toolFixture().call(read, { path: '/etc/passwd' });
    expect(output).toMatchObject({ isError: true, summary: '/etc/passwd is outside the directory' });
  });

  test('a path with ~, which is not expanded', () => {
    expect(invalidText(read, { path: '~/notes.md' })).toContain('~ is not expanded');
    expect(invalidText(read, { path: './~notes.md' })).toBeUndefined();
    expect(invalidText(read, { path: 'a\0b' })).toContain('path: must be a path');
  });
});

describe('a link that replaced the path after the policy check', () => {
  test('for the file is not followed', async () => {
    const outside = temporaryDirectory();
    const fixture = toolFixture({ 'a.txt': 'mine' });
    const context = {
      ...fixture.context,
      resolve: async (path: string) => {
        renameSync(path, `${path}.moved`);
        symlinkSync(`${outside}/secret`, path);
        return path;
      },
    };
    expect(outputText(await callTool(read, { path: 'a.txt' }, context))).toContain('became a symbolic link');
  });

  test.runIf(process.platform === 'linux')('for its directory is detected', async () => {
    const outside = toolFixture({ 'a.txt': 'secret' }).directory;
    const fixture = toolFixture({ 'sub/a.txt': 'mine' });
    let swapped = false;
    const context = {
      ...fixture.context,
      resolve: async (path: string, access: 'read' | 'write') => {
        const real = await fixture.context.resolve(path, access);
        if (!swapped) {
          swapped = true;
          renameSync(fixture.path('sub'), fixture.path('was-sub'));
          symlinkSync(outside, fixture.path('sub'));
        }
        return real;
      },
    };
    const output = await callTool(read, { path: 'sub/a.txt' }, context);
    expect(output.isError).toBe(true);
    expect(outputText(output)).toContain('is outside the directory');
  });
});

test('a cancelled read returns an error', async () => {
  const output = await toolFixture({ 'a.txt': 'x' }).call(read, { path: 'a.txt' }, AbortSignal.abort());
  expect(output).toMatchObject({ isError: true, summary: 'Cancelled before it was done.' });
});

test('a read reports its access and its title', () => {
  expect(read.prepare({ path: 'src/a.ts', offset: 1, limit: 40 }, '/project')).toMatchObject({
    access: [{ type: 'read', path: '/project/src/a.ts' }],
    title: 'read src/a.ts:1-40',
  });
  expect(read.prepare({ path: '/a/../b', offset: 7 }, '/project')).toMatchObject({
    access: [{ type: 'read', path: '/b' }],
    title: 'read /a/../b:7-',
  });
});

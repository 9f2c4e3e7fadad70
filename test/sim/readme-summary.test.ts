import { expect, test } from 'vitest';
import { countEntries, readmeSummary, findReadme } from '../../src/sim/script/readme-summary.ts';

test.each([
  ['# A\n\nOne. Two.', 'A', 'One.'],
  [
    '# **A** `b`\n\n[![ci](x)](y)\n\n> quoted\n\n**A** is [a link](z) that\ngoes on. Two.',
    'A b',
    'A is a link that goes on.',
  ],
  ['   1→# A\n   2→\n   3→One.', 'A', 'One.'],
  ['# A\n\n```sh\n# not a title\nrun it\n```\n\n- item\n\n| a | b |\n\nNo full stop', 'A', 'No full stop'],
  ['# 題名\n\nこれは文です。次の文。', '題名', 'これは文です。'],
  ['Just a sentence!', '', 'Just a sentence!'],
  ['', '', ''],
])('the summary of %j is its title and its first sentence', (readme, title, sentence) => {
  expect(readmeSummary(readme)).toEqual({ title, sentence });
});

test.each([
  ['README.md\nsrc', 'README.md'],
  ['docs/README.md\nreadme.txt', 'readme.txt'],
  ['["a","README"]', 'README'],
  ['-rw-r--r-- 1 me me 12 Jan 1 README.rst', 'README.rst'],
  ['readme-generator.ts\nREADMEs', undefined],
])('the README in %j is %s', (listing, readme) => {
  expect(findReadme(listing)).toBe(readme);
});

test.each([
  ['a\nb\n\n', 2],
  ['["a","b","c"]', 3],
  ['total 8\na', 1],
  ['', 0],
])('%j has %i entries', (listing, count) => {
  expect(countEntries(listing)).toBe(count);
});

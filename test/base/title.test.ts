import { describe, expect, it } from 'vitest';
import { promptTitle, writtenTitle } from '../../src/base/index.ts';
import { displayWidth } from '../../src/terminal/width.ts';

describe('the title from a prompt', () => {
  it.each([
    ['Fix the failing test', 'Fix the failing test'],
    ['Fix the failing test. Then commit it.', 'Fix the failing test'],
    ['Why does src/a.ts fail? It worked.', 'Why does src/a.ts fail?'],
    ['Hi! Please rename the parser. Thanks.', 'Hi! Please rename the parser'],
    ['Use a library, e.g. marked. Then test.', 'Use a library, e.g. marked'],
    ['\n\n# Task\n\nDo it', 'Task'],
    ['- first item of a list\n- second', 'first item of a list'],
    ['```\n---\nrun the build', 'run the build'],
    ['テストを直してください。それからコミット。', 'テストを直してください'],
    ['a\tb\u0007c\u202Ed', 'a b c d'],
  ])('%j is %j', (prompt, title) => {
    expect(promptTitle(prompt)).toBe(title);
  });

  it.each(['', '   \n', '```', '---\n***'])('is missing if the prompt has no text: %j', (prompt) => {
    expect(promptTitle(prompt)).toBeUndefined();
  });

  it('has at most 60 columns and ends at a word', () => {
    const title =
      promptTitle('refactor the session catalogue so that it reads rows lazily and keeps an index') ?? '';
    expect(title).toBe('refactor the session catalogue so that it reads rows lazily…');
    expect(displayWidth(title)).toBeLessThanOrEqual(60);
  });

  it.each(['日本語'.repeat(50), '👩‍👩‍👧'.repeat(50), 'ก็'.repeat(100), 'e\u0301'.repeat(100)])(
    'does not split a grapheme: %s',
    (prompt) => {
      const title = promptTitle(prompt) ?? '';
      expect(displayWidth(title)).toBeLessThanOrEqual(60);
      const graphemes = [...new Intl.Segmenter().segment(prompt)].map(({ segment }) => segment);
      for (const { segment } of new Intl.Segmenter().segment(title.replace(/…$/, '')))
        expect(graphemes).toContain(segment);
    },
  );

  it('reads only the start of a long prompt', () => {
    expect(promptTitle(`Read this. ${'x'.repeat(5_000_000)}`)).toMatch(/^Read this\. x+…$/);
  });
});

describe('the title that a model has written', () => {
  it.each([
    ['Rename the parser', 'Rename the parser'],
    ['"Rename the parser."', 'Rename the parser'],
    ['**Title:** Rename the parser', 'Rename the parser'],
    ['# Rename the parser\n\nBecause …', 'Rename the parser'],
    ['「パーサーの改名」', 'パーサーの改名'],
  ])('%j is %j', (answer, title) => {
    expect(writtenTitle(answer)).toBe(title);
  });

  it('is missing if the answer has none', () => {
    expect(['', '\n', '""', '***'].map(writtenTitle)).toEqual([undefined, undefined, undefined, undefined]);
  });
});

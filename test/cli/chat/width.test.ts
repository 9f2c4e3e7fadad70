import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { displayWidth, fitWidth, fitWidthEnd } from '../../../src/terminal/width.ts';

describe('displayWidth', () => {
  it.each([
    ['plain text', 10],
    ['日本語', 6],
    ['中文字符', 8],
    ['ｶﾀｶﾅ', 4],
    ['สวัสดี', 4],
    ['น้ำ', 2],
    ['한국어', 6],
    ['é', 1],
    ['e\u0301', 1],
    ['👋', 2],
    ['👋🏽', 2],
    ['👩‍💻', 2],
    ['❤️', 2],
    ['🇯🇵', 2],
    ['1️⃣', 2],
    ['a\u200Bb', 2],
    ['', 0],
  ])('%j takes %i columns', (text, width) => {
    expect(displayWidth(text)).toBe(width);
  });
});

describe('fitWidth', () => {
  it.each([
    ['日本語のテキスト', 7, '日本語…'],
    ['日本語のテキスト', 6, '日本…'],
    ['สวัสดีครับ', 4, 'สวัส…'],
    ['family 👩‍👩‍👧‍👦!', 9, 'family …'],
    ['fits', 4, 'fits'],
    ['x', 0, ''],
  ])('%j in %i columns is %j', (text, columns, fitted) => {
    expect(fitWidth(text, columns)).toBe(fitted);
  });

  it('never exceeds the columns, and never splits a character', () => {
    const word = fc.constantFrom('a', '語', '字', 'ส', 'วั', '👋🏽', '👩‍💻', '🇹🇭', 'é', ' ');
    fc.assert(
      fc.property(fc.array(word, { maxLength: 60 }), fc.integer({ min: 1, max: 80 }), (words, columns) => {
        const text = words.join('');
        const fitted = fitWidth(text, columns);
        expect(displayWidth(fitted)).toBeLessThanOrEqual(columns);
        if (fitted === text) return;
        const graphemes = [...new Intl.Segmenter().segment(text)].map(({ segment }) => segment);
        const shownGraphemes = [...new Intl.Segmenter().segment(fitted.slice(0, -1))].map(
          ({ segment }) => segment,
        );
        expect(graphemes.slice(0, shownGraphemes.length)).toEqual(shownGraphemes);
      }),
    );
  });
});

describe('fitWidthEnd', () => {
  it.each([
    ['/home/ada/project', 8, '…project'],
    ['/home/ada/プロジェクト', 9, '…ジェクト'],
    ['/home/ada/プロジェクト', 8, '…ェクト'],
    ['fits', 4, 'fits'],
    ['x', 0, ''],
  ])('%j in %i columns is %j', (text, columns, fitted) => {
    expect(fitWidthEnd(text, columns)).toBe(fitted);
    expect(displayWidth(fitted)).toBeLessThanOrEqual(columns);
  });
});

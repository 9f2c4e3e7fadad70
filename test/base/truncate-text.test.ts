import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { truncateText } from '../../src/base/index.ts';

it('truncateText cuts at the last grapheme boundary within the limit', () => {
  const character = fc.constantFrom('a', ' ', 'é', 'e\u0301', '🇩🇪', '👩‍👩‍👧', '👍🏽', '한', 'กำ', '日');
  fc.assert(
    fc.property(
      fc.array(character, { maxLength: 400 }),
      fc.integer({ min: 20, max: 300 }),
      (characters, longest) => {
        const text = characters.join('');
        const beginning = truncateText(text, longest);
        expect(beginning.length).toBeLessThanOrEqual(longest);
        let all = '';
        for (const { segment } of new Intl.Segmenter().segment(text)) {
          if (all.length + segment.length > longest) break;
          all += segment;
        }
        expect(beginning).toBe(all);
      },
    ),
  );
});

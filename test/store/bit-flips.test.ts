import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openLog, sealRecords } from '../../src/store/index.ts';
import { FaultyFiles } from './faulty-files.ts';
import { linesOf } from './fixture.ts';
import { KIND, PATH } from './sweep.ts';

const texts = [1, 2, 3, 4, 5].map((n) => JSON.stringify({ n, text: 'J*{"a":1}\n}'.repeat(n) }));

it('any flipped bit is located, and a damaged line is never served', async () => {
  const sound = Buffer.from(sealRecords([KIND.header, ...texts]));
  const start = sealRecords([KIND.header]).length;
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: start * 8, max: sound.length * 8 - 1 }), async (bit) => {
      const byteIndex = bit >> 3;
      const damaged = Buffer.from(sound);
      damaged[byteIndex] = (damaged[byteIndex] ?? 0) ^ (1 << (bit & 7));
      const files = new FaultyFiles();
      files.put(PATH, damaged);
      const bad = (await linesOf(files, PATH)).filter(
        ({ status }) => status === 'corrupt' || status === 'torn',
      );
      expect(bad.some(({ offset, end }) => offset <= byteIndex && byteIndex < end)).toBe(true);

      const log = await openLog(PATH, { ...KIND, files });
      const served = (await linesOf(files, PATH, { from: log.start, to: log.end })).flatMap((line) =>
        line.status === 'ok' || line.status === 'unverified' ? [line.text] : [],
      );
      expect(served.every((text) => texts.includes(text))).toBe(true);
      expect(served.length).toBeGreaterThanOrEqual(texts.length - 2);
    }),
    { numRuns: 1000 },
  );
});

it('a file whose header has a flipped bit is not written to', async () => {
  const files = new FaultyFiles();
  const content = Buffer.from(sealRecords([KIND.header, ...texts]));
  content[5] = (content[5] ?? 0) ^ 4;
  files.put(PATH, content);
  await expect(openLog(PATH, { ...KIND, files })).rejects.toMatchObject({ code: 'conflict' });
  expect(files.contentOf(PATH)).toEqual(content);
});

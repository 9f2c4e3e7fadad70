import { readdirSync, statSync, truncateSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SavedFiles } from '../../../src/pod/rewind/saved-files.ts';
import { realFiles } from '../../../src/store/index.ts';
import { scratch } from '../fixture.ts';

function savedFiles(maxBytes?: number) {
  const directory = join(scratch(), 'saved-files', 'id');
  const options = { directory, files: realFiles, durability: 'full', ...(maxBytes && { maxBytes }) } as const;
  const open = () => new SavedFiles(options);
  return { directory, saved: open(), open };
}

describe('saved files', () => {
  it('are stored once by content, readable only for their owner', async () => {
    const { directory, saved } = savedFiles();
    const binary = Buffer.from([0, 255, 1, 254]);
    const hash = await saved.save(binary);
    expect(await saved.save(binary)).toBe(hash);
    expect(await saved.read(hash)).toEqual(binary);
    expect(readdirSync(directory)).toEqual([hash]);
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    expect(statSync(join(directory, hash)).mode & 0o777).toBe(0o600);
  });

  it('that are missing, damaged or have another name are not returned', async () => {
    const { directory, saved } = savedFiles();
    const hash = await saved.save(Buffer.from('content'));
    truncateSync(join(directory, hash), 3);
    expect(await saved.read(hash)).toBeUndefined();
    expect(await saved.read('0'.repeat(64))).toBeUndefined();
    expect(await saved.read('../../../etc/passwd')).toBeUndefined();
  });

  it('have a limited size together: the oldest are removed, except those that are needed', async () => {
    const { directory, saved, open } = savedFiles(10);
    await saved.save(Buffer.from('11111'));
    const two = await saved.save(Buffer.from('22222'));
    const three = await saved.save(Buffer.from('33333'));
    expect(new Set(readdirSync(directory))).toEqual(new Set([two, three]));
    // Another process goes by the times of the files.
    utimesSync(join(directory, three), 1, 1);
    const four = await open().save(Buffer.from('44444'));
    expect(new Set(readdirSync(directory))).toEqual(new Set([two, four]));
    utimesSync(join(directory, two), 1, 1);
    const five = await open().save(Buffer.from('55555'), new Set([two]));
    expect(new Set(readdirSync(directory))).toEqual(new Set([two, five]));
  });
});

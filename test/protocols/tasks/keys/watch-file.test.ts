import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { watchFile } from '../../../../src/protocols/tasks/keys/watch-file.ts';
import { scratch } from '../../../pod/fixture.ts';

/** Replaces the file like a key file: completely, by a rename. */
function replace(file: string, text: string): void {
  writeFileSync(`${file}.draft`, text);
  renameSync(`${file}.draft`, file);
}

/** Resolves at the next call. If the watch misses it, the test times out. */
function changes(file: string): { readonly next: () => Promise<void>; readonly count: () => number } {
  let [count, wake] = [0, () => {}];
  onTestFinished(
    watchFile(file, () => {
      count += 1;
      wake();
    }),
  );
  return {
    next: () =>
      new Promise((resolve) => {
        wake = resolve;
      }),
    count: () => count,
  };
}

describe('watchFile', () => {
  it('reports each replacement of the file, and its creation', async () => {
    const file = join(scratch(), 'keys.json');
    const { next } = changes(file);
    for (const text of ['one', 'two', 'three']) {
      const changed = next();
      replace(file, text);
      await changed;
    }
  });

  it('ignores changes to other files in the directory', async () => {
    const directory = scratch();
    const file = join(directory, 'keys.json');
    const { next, count } = changes(file);
    for (const text of ['one', 'two']) {
      const changed = next();
      writeFileSync(join(directory, 'other'), text);
      replace(file, text);
      await changed;
    }
    expect(count()).toBe(2);
  });

  it('polls if the directory cannot be watched', async () => {
    const directory = join(scratch(), 'not-there-yet');
    const file = join(directory, 'keys.json');
    const { next } = changes(file);
    const changed = next();
    mkdirSync(directory);
    replace(file, 'one');
    await changed;
  });
});

import { readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { FileChangeRecord } from '../../../src/pod/event.ts';
import { planFiles } from '../../../src/pod/rewind/plan.ts';
import { recordedVersion, restoreFiles } from '../../../src/pod/rewind/restore-files.ts';
import { SavedFiles } from '../../../src/pod/rewind/saved-files.ts';
import { realFiles } from '../../../src/store/index.ts';
import type { FileWrite } from '../../../src/tools/index.ts';
import { scratch } from '../fixture.ts';

const NAMES = ['a', 'b', 'c'];

/** Files that changed from `before` to `agent`, and a process that can end after a number of steps. */
async function changedFiles() {
  const cwd = realpathSync(scratch());
  const saved = new SavedFiles({ directory: join(scratch(), 'saved'), files: realFiles, durability: 'none' });
  const changes: FileChangeRecord[] = [];
  const record = async ({ path, before, after }: FileWrite): Promise<void> => {
    if (before?.bytes !== undefined) await saved.save(before.bytes);
    const [found, left] = [recordedVersion(before), recordedVersion(after)];
    changes.push({ path, ...(found && { before: found }), ...(left && { after: left }) });
  };
  for (const name of NAMES) {
    const path = join(cwd, name);
    const version = (text: string) => ({ bytes: Buffer.from(text), mode: 0o644 });
    await record({ path, before: version('before'), after: version('agent') });
    writeFileSync(path, 'agent');
  }
  /** `steps` is the number of records that succeed. */
  const restore = (steps: number, isRecordedBefore: boolean) => {
    let left = steps;
    return restoreFiles(planFiles(changes), new Set(), {
      saved,
      judge: async () => ({ resolve: async (path) => path, isOutside: false }),
      record: async (write) => {
        if (left <= 0 && isRecordedBefore) await record(write);
        if (left <= 0) throw new Error('the process ended');
        left -= 1;
        await record(write);
      },
    });
  };
  const texts = () => NAMES.map((name) => readFileSync(join(cwd, name), 'utf8'));
  return { restore, texts };
}

describe('restoring files', () => {
  it.each([
    [0, false],
    [1, false],
    [1, true],
    [2, true],
  ])(
    'continues after the process ended: %i files restored, the next one recorded: %s',
    async (steps, isRecorded) => {
      const { restore, texts } = await changedFiles();
      await expect(restore(steps, isRecorded)).rejects.toThrow('the process ended');
      expect(texts().filter((text) => text === 'before')).toHaveLength(steps);
      const files = await restore(3, false);
      expect(files.map(({ outcome }) => outcome)).toEqual(NAMES.slice(steps).map(() => 'restored'));
      expect(texts()).toEqual(['before', 'before', 'before']);
    },
  );

  it('has no effect the second time', async () => {
    const { restore, texts } = await changedFiles();
    expect(await restore(3, false)).toHaveLength(3);
    expect(await restore(0, false)).toEqual([]);
    expect(texts()).toEqual(['before', 'before', 'before']);
  });
});

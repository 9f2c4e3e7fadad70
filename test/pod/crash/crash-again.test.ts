import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { textContent } from '../../../src/llm/index.ts';
import { type Files, realFiles } from '../../../src/store/index.ts';
import { FaultyFiles } from '../../store/faulty-files.ts';
import { idleSnapshot } from './pod-reader.ts';
import { copyFiles, filesOf } from './power-cut.ts';
import { ADA, Listener, promptCommand, scratch, hostFixture } from '../fixture.ts';

/** The content of a disk after a kill of the process. */
function afterKill(disk: FaultyFiles, directory: string, id: string): FaultyFiles {
  const seen = disk.afterPowerCut({ torn: 1, zeros: false, names: true });
  const copy = new FaultyFiles();
  for (const part of ['', '/sessions', `/feeds/${id}`]) copyFiles(seen, `${directory}${part}`, copy);
  return copy;
}

describe("a person's shell command that a kill interrupts", () => {
  it('is reported to the model once as interrupted, however often the session is opened', async () => {
    const disk = new FaultyFiles();
    const { host, cwd, directory, reopen } = await hostFixture(() => ({ parts: [{ text: 'Fine.' }] }), {
      files: filesOf(disk, new Set()),
    });
    const pod = await host.create({ cwd });
    await pod.handle(promptCommand('hello'), ADA);
    await idleSnapshot(pod);
    const listener = new Listener(pod);
    await pod.handle({ type: 'shell', command: 'echo begun && sleep 30' }, ADA);
    await listener.waitForType('shell-update');

    const [first, second] = [afterKill(disk, directory, pod.id), afterKill(disk, directory, pod.id)];
    for (const left of [first, second]) {
      let then = left;
      const seen: unknown[] = [];
      for (let times = 0; times < 3; times += 1) {
        const again = await reopen({ files: filesOf(then, new Set()) });
        const { items, shells } = await idleSnapshot(again.pod(pod.id));
        expect(shells).toEqual([]);
        seen.push(items.slice(2));
        // Closed the first time, killed the second.
        if (left === first) await again.shutdown();
        then = afterKill(then, directory, pod.id);
      }
      expect(seen[0]).toMatchObject([{ type: 'message', role: 'user' }]);
      expect(JSON.stringify(seen[0])).toContain('echo begun && sleep 30');
      expect(JSON.stringify(seen[0])).toContain('Interrupted');
      expect(seen[1]).toEqual(seen[0]);
      expect(seen[2]).toEqual(seen[0]);
    }
  });
});

describe('a receipt', () => {
  it('is not returned before it is on disk, also not to a second caller', async () => {
    const disk = new FaultyFiles();
    const { host, cwd, directory, reopen } = await hostFixture(() => ({ parts: [{ text: 'Fine.' }] }), {
      files: filesOf(disk, new Set()),
    });
    const pod = await host.create({ cwd });
    const command = { type: 'follow-up', content: textContent('twice') } as const;
    const keyed = { ...ADA, key: 'one' };
    const first = pod.handle(command, keyed);
    await pod.handle(command, keyed);
    const after = disk.afterPowerCut({ torn: 0, zeros: false, names: false });
    const again = await reopen({ files: filesOf(after, new Set()), directory });
    expect((await again.pod(pod.id).snapshot()).queue).toMatchObject([{ content: command.content }]);
    await first;
  });
});

describe('a deleted session', () => {
  it('stays deleted after a power cut', async () => {
    const disk = new FaultyFiles();
    const { host, cwd, reopen } = await hostFixture(() => ({ parts: [{ text: 'Fine.' }] }), {
      files: filesOf(disk, new Set()),
    });
    const [kept, deleted] = [await host.create({ cwd }), await host.create({ cwd })];
    await host.delete(deleted.id);
    const after = disk.afterPowerCut({ torn: 0, zeros: false, names: false });
    const again = await reopen({ files: filesOf(after, new Set()) });
    expect((await again.sessions.list()).map(({ id }) => id)).toEqual([kept.id]);
  });
});

describe('a new data directory', () => {
  it('is on the disk before a pod in it accepts anything', async () => {
    const directory = join(scratch(), 'deep', 'data');
    const synced: string[] = [];
    const files: Files = {
      ...realFiles,
      syncDirectory: async (path) => {
        synced.push(path);
        await realFiles.syncDirectory(path);
      },
    };
    await hostFixture(() => ({ parts: [{ text: 'Fine.' }] }), { files, directory });
    const made = [directory, join(directory, 'sessions'), join(directory, 'feeds'), dirname(directory)];
    expect(synced).toEqual(expect.arrayContaining(made.map((path) => dirname(path))));
  });
});

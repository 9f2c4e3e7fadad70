import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { promptCommand, hostFixture } from './fixture.ts';

const SETTINGS = { model: { provider: 'sim', modelId: 'other' }, thinking: 'high' } as const;

test('the initial settings of a new pod are visible at once, and written with its first entry', async () => {
  const { host, cwd, reopen } = await hostFixture([{ parts: [{ text: 'Hello.' }] }]);
  const pod = await host.create({ cwd, lazy: true, settings: SETTINGS });
  expect(await pod.snapshot()).toMatchObject({ model: SETTINGS.model, settings: SETTINGS, seq: 0 });
  const file = host.fileOf(pod.id);
  expect(existsSync(file)).toBe(false);
  await pod.handle(promptCommand('Hi'));
  const types = readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { type: string }).type);
  expect(types.slice(0, 3)).toEqual(['session', 'model_change', 'thinking_level_change']);
  await host.shutdown();
  const again = await reopen();
  expect(await again.pod(pod.id).snapshot()).toMatchObject({ model: SETTINGS.model, settings: SETTINGS });
});

test('an unused new pod is discarded with the directories created for it', async () => {
  const { host, cwd } = await hostFixture([]);
  const pod = await host.create({ cwd, lazy: true, file: () => join(cwd, 'a/b/new.jsonl') });
  await pod.snapshot();
  expect(readdirSync(join(cwd, 'a/b'))).toEqual(['new.jsonl.lock']);
  const stop = new AbortController();
  const watching = pod.watch({ signal: stop.signal });
  await watching.next();
  await host.discard(pod.id);
  // A client uses it.
  expect(host.pod(pod.id).id).toBe(pod.id);
  stop.abort();
  await watching.next();
  await host.discard(pod.id);
  expect(() => host.pod(pod.id)).toThrow('there is no pod');
  expect(existsSync(join(cwd, 'a'))).toBe(false);
});

test('a pod with a session is not discarded, and one that is being moved to the trash is not opened', async () => {
  const { host, cwd } = await hostFixture([]);
  const pod = await host.create({ cwd, settings: { name: 'kept' } });
  const moves: string[] = [];
  const stop = host.onPods((_, move) => void moves.push(move));
  await host.discard(pod.id);
  stop();
  // It was not unloaded.
  expect(moves).toEqual(['in']);
  expect((await pod.snapshot()).settings.name).toBe('kept');
  // As a watcher does when the pod closes.
  const again: Promise<string>[] = [];
  host.onPods((_, move) => {
    if (move !== 'out') return;
    again.push(
      pod.snapshot().then(
        () => 'opened again',
        (thrown: unknown) => String(thrown),
      ),
    );
  });
  await host.delete(pod.id);
  expect(await Promise.all(again)).toEqual([expect.stringContaining('there is no pod')]);
  expect(existsSync(host.fileOf(pod.id))).toBe(false);
});

test('the future file of a new pod belongs to that pod', async () => {
  const { host, cwd } = await hostFixture([]);
  const options = { cwd, lazy: true, file: () => join(cwd, 'new.jsonl') };
  const pod = await host.create(options);
  expect((await host.create(options)).id).toBe(pod.id);
});

test('a pod whose file cannot be created does not exist', async () => {
  const { host, cwd } = await hostFixture([]);
  writeFileSync(join(cwd, 'notes'), 'no directory');
  const ids: string[] = [];
  const file = (id: string): string => {
    ids.push(id);
    return join(cwd, 'notes/new.jsonl');
  };
  await expect(host.create({ cwd, file })).rejects.toThrow('ENOTDIR');
  expect(ids).toHaveLength(1);
  expect(() => host.pod(ids[0] ?? '')).toThrow('there is no pod');
  expect(await host.sessions.list()).toEqual([]);
});

test('a pod is listed once its file is written', async () => {
  const { host, cwd } = await hostFixture([]);
  const hasFile: boolean[] = [];
  host.sessions.onChange(({ id }) => void hasFile.push(existsSync(host.fileOf(id))));
  await host.create({ cwd, settings: { name: 'new' } });
  await expect.poll(() => hasFile.length).toBeGreaterThan(0);
  expect(hasFile).not.toContain(false);
});

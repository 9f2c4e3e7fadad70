import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Host, Pod, PodCommandOf, PodEventOf } from '../../../src/pod/index.ts';
import { Layout } from '../../../src/pod/host/layout.ts';
import { moveFromTrash } from '../../../src/pod/host/trash.ts';
import { realFiles } from '../../../src/store/index.ts';
import type { SimAnswer } from '../../../src/sim/index.ts';
import { idleSnapshot } from '../crash/pod-reader.ts';
import { ADA, BOB, hostFixture, type HostFixture, Listener, promptCommand, scratch } from '../fixture.ts';

const done: SimAnswer = { parts: [{ text: 'Done.' }] };

function write(path: string, content: string): SimAnswer {
  return { parts: [{ toolCall: { name: 'write', arguments: { path, content } } }] };
}

/** One answer for each request, in order. */
async function fixtureWith(answers: readonly SimAnswer[], options = {}) {
  const fixture = await hostFixture(answers, options);
  const pod = await fixture.host.create({ cwd: fixture.cwd });
  return { ...fixture, pod, ...filesIn(fixture) };
}

function filesIn({ cwd }: Pick<HostFixture, 'cwd'>) {
  const at = (name: string): string => join(cwd, name);
  return {
    at,
    put: (name: string, content: string | Uint8Array) => writeFileSync(at(name), content),
    text: (name: string) => (existsSync(at(name)) ? readFileSync(at(name), 'utf8') : undefined),
  };
}

async function prompt(pod: Pod, text: string): Promise<void> {
  await pod.handle(promptCommand(text), ADA);
  await idleSnapshot(pod);
}

/** The entry of the prompt with this text. */
async function pointOf(pod: Pod, text: string): Promise<string> {
  const { points } = await pod.rewindPoints();
  return points.find((point) => point.text === text)?.entryId ?? '';
}

/** Rewinds to the point before a prompt, and returns what happened. */
async function rewind(
  pod: Pod,
  entryId: string,
  options: Partial<PodCommandOf<'rewind'>> = {},
): Promise<PodEventOf<'rewound'>> {
  const { seq } = await pod.snapshot();
  const listener = new Listener(pod, seq);
  await pod.handle({ type: 'rewind', entryId, ...options }, ADA);
  const event = await listener.waitForType('rewound');
  await listener.stop();
  return event;
}

const userTexts = async (pod: Pod) =>
  (await pod.snapshot()).items.flatMap((item) =>
    item.type === 'message' && item.role === 'user'
      ? item.content.flatMap((part) => (part.type === 'text' ? [part.text] : []))
      : [],
  );

async function reopened(host: Host, reopen: HostFixture['reopen'], id: string): Promise<Pod> {
  await host.shutdown();
  return (await reopen()).pod(id);
}

describe('a rewind', () => {
  it('restores changed files with their mode, removes created ones, and moves the conversation', async () => {
    const { pod, at, put, text, cwd } = await fixtureWith([
      write('a.txt', 'one\n'),
      done,
      write('a.txt', 'two\n'),
      write('deep/er/new.txt', 'new\n'),
      done,
    ]);
    put('a.txt', 'zero\n');
    chmodSync(at('a.txt'), 0o750);
    await prompt(pod, 'first');
    await prompt(pod, 'second');
    expect([text('a.txt'), text('deep/er/new.txt')]).toEqual(['two\n', 'new\n']);
    const second = await pointOf(pod, 'second');
    const previews = await pod.previewRewind(second);
    expect(previews.map(({ label, action, status, diff }) => [label, action, status, diff])).toEqual([
      ['a.txt', 'restore', 'ready', '--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-two\n+one\n'],
      ['deep/er/new.txt', 'remove', 'ready', '--- a/deep/er/new.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-new\n'],
    ]);
    const { files, by } = await rewind(pod, second);
    expect([by, files]).toEqual([
      'ada',
      [
        { path: join(cwd, 'a.txt'), outcome: 'restored' },
        { path: join(cwd, 'deep/er/new.txt'), outcome: 'removed' },
      ],
    ]);
    expect([text('a.txt'), existsSync(at('deep'))]).toEqual(['one\n', false]);
    expect(await userTexts(pod)).toEqual(['first']);
    await rewind(pod, await pointOf(pod, 'first'));
    expect([text('a.txt'), statSync(at('a.txt')).mode & 0o777]).toEqual(['zero\n', 0o750]);
    expect(await userTexts(pod)).toEqual([]);
  });

  it('can be undone, step by step', async () => {
    const { pod, text } = await fixtureWith([write('a.txt', 'one'), done, write('a.txt', 'two'), done]);
    await prompt(pod, 'first');
    await prompt(pod, 'second');
    await rewind(pod, await pointOf(pod, 'second'));
    await rewind(pod, await pointOf(pod, 'first'));
    expect([text('a.txt'), await userTexts(pod)]).toEqual([undefined, []]);
    for (const [content, texts] of [
      ['one', ['first']],
      ['two', ['first', 'second']],
    ] as const) {
      const { redo } = await pod.rewindPoints();
      await rewind(pod, redo?.entryId ?? '');
      expect([text('a.txt'), await userTexts(pod)]).toEqual([content, texts]);
    }
    expect((await pod.rewindPoints()).redo).toBeUndefined();
  });

  it.each([
    ['files', 'zero', ['first']],
    ['conversation', 'one', []],
  ] as const)('of %s leaves the rest as it is', async (parts, content, texts) => {
    const { pod, put, text } = await fixtureWith([write('a.txt', 'one'), done]);
    put('a.txt', 'zero');
    await prompt(pod, 'first');
    await rewind(pod, await pointOf(pod, 'first'), { parts });
    expect([text('a.txt'), await userTexts(pod)]).toEqual([content, texts]);
    const { redo } = await pod.rewindPoints();
    await rewind(pod, redo?.entryId ?? '', { parts });
    expect([text('a.txt'), await userTexts(pod)]).toEqual(['one', ['first']]);
  });

  it('removes the directories that the agent created for several files', async () => {
    const { pod, at } = await fixtureWith([write('deep/er/a.txt', 'a'), write('deep/b.txt', 'b'), done]);
    await prompt(pod, 'first');
    await rewind(pod, await pointOf(pod, 'first'));
    expect(existsSync(at('deep'))).toBe(false);
  });

  it('keeps a directory that the agent created if somebody else uses it', async () => {
    const { pod, at } = await fixtureWith([write('deep/er/new.txt', 'new'), done]);
    await prompt(pod, 'first');
    writeFileSync(at('deep/mine.txt'), 'mine');
    await rewind(pod, await pointOf(pod, 'first'));
    expect(readdirSync(at('deep'))).toEqual(['mine.txt']);
  });

  it('restores a binary file byte by byte', async () => {
    const { pod, at, put } = await fixtureWith([write('a.bin', 'text'), done]);
    const binary = Buffer.from([0, 159, 146, 150, 10, 0]);
    put('a.bin', binary);
    await prompt(pod, 'first');
    const point = await pointOf(pod, 'first');
    expect((await pod.previewRewind(point)).map(({ diff }) => diff)).toEqual(['']);
    await rewind(pod, point);
    expect(readFileSync(at('a.bin'))).toEqual(binary);
  });

  it('skips a file that somebody else changed since, and overwrites it only if it is named', async () => {
    const { pod, at, put, text } = await fixtureWith([
      write('a.txt', 'agent'),
      write('b.txt', 'agent'),
      done,
    ]);
    put('a.txt', 'before');
    await prompt(pod, 'first');
    put('a.txt', 'mine');
    const point = await pointOf(pod, 'first');
    expect((await pod.previewRewind(point)).map(({ status }) => status)).toEqual(['conflict', 'ready']);
    const { files } = await rewind(pod, point, { parts: 'files' });
    expect(files).toEqual([
      { path: at('a.txt'), outcome: 'skipped', reason: expect.stringContaining('changed since') },
      { path: at('b.txt'), outcome: 'removed' },
    ]);
    expect([text('a.txt'), text('b.txt')]).toEqual(['mine', undefined]);
    await rewind(pod, point, { parts: 'files', overwrite: [at('a.txt')] });
    expect(text('a.txt')).toBe('before');
    // What was overwritten is saved.
    const { redo } = await pod.rewindPoints();
    await rewind(pod, redo?.entryId ?? '', { parts: 'files' });
    expect(text('a.txt')).toBe('mine');
  });

  it('reports a conflict if somebody else changed the file between two prompts', async () => {
    const { pod, put, text } = await fixtureWith([write('a.txt', 'one'), done, write('a.txt', 'two'), done]);
    await prompt(pod, 'first');
    put('a.txt', 'mine');
    await prompt(pod, 'second');
    await rewind(pod, await pointOf(pod, 'second'), { parts: 'files' });
    expect(text('a.txt')).toBe('mine');
    const [file] = await pod.previewRewind(await pointOf(pod, 'first'));
    expect([file?.status, file?.reason]).toEqual(['conflict', expect.stringContaining('in between')]);
  });

  it('restores a file that was removed since, with its directory, and treats it as a conflict', async () => {
    const { pod, at, text } = await fixtureWith([write('deep/a.txt', 'agent'), done]);
    mkdirSync(at('deep'));
    writeFileSync(at('deep/a.txt'), 'before');
    await prompt(pod, 'first');
    rmSync(at('deep'), { recursive: true });
    const point = await pointOf(pod, 'first');
    const [file] = await pod.previewRewind(point);
    expect(file?.status).toBe('conflict');
    await rewind(pod, point, { overwrite: [at('deep/a.txt')] });
    expect(text('deep/a.txt')).toBe('before');
  });

  it.each(['file', 'directory'])('does not follow a symbolic link that replaced a %s', async (kind) => {
    const { pod, at } = await fixtureWith([write('deep/a.txt', 'agent'), done]);
    mkdirSync(at('deep'));
    writeFileSync(at('deep/a.txt'), 'before');
    await prompt(pod, 'first');
    const outside = scratch();
    writeFileSync(join(outside, 'a.txt'), 'agent');
    const linked = kind === 'file' ? 'deep/a.txt' : 'deep';
    renameSync(at(linked), `${at(linked)}.moved`);
    symlinkSync(kind === 'file' ? join(outside, 'a.txt') : outside, at(linked));
    const { files } = await rewind(pod, await pointOf(pod, 'first'), { overwrite: [at('deep/a.txt')] });
    expect(files.map(({ outcome }) => outcome)).toEqual(['skipped']);
    expect(readFileSync(join(outside, 'a.txt'), 'utf8')).toBe('agent');
    expect(readdirSync(outside)).toEqual(['a.txt']);
  });

  it('does not write what the policy denies now', async () => {
    const { pod, put, text } = await fixtureWith([write('a.txt', 'agent'), done]);
    put('a.txt', 'before');
    await prompt(pod, 'first');
    await pod.handle({ type: 'configure', set: { mode: 'read-only' } }, ADA);
    const { files } = await rewind(pod, await pointOf(pod, 'first'));
    expect(files).toEqual([
      expect.objectContaining({ outcome: 'skipped', reason: expect.stringContaining('read-only') }),
    ]);
    expect(text('a.txt')).toBe('agent');
  });

  it('restores a file outside of the scope only if it is named', async () => {
    const outside = scratch();
    const path = join(outside, 'a.txt');
    writeFileSync(path, 'before');
    const { pod } = await fixtureWith([write(path, 'agent'), done], { agent: { mode: 'full-access' } });
    await prompt(pod, 'first');
    expect(readFileSync(path, 'utf8')).toBe('agent');
    const point = await pointOf(pod, 'first');
    expect((await rewind(pod, point, { parts: 'files' })).files).toEqual([
      { path, outcome: 'skipped', reason: expect.stringContaining('outside the working directory') },
    ]);
    await rewind(pod, point, { overwrite: [path] });
    expect(readFileSync(path, 'utf8')).toBe('before');
  });

  it('is refused during a run, and for an unknown entry', async () => {
    const slow = { parts: [{ text: 'Slow.' }], pace: { deltas: 1000, delayMs: 60_000 } };
    const { pod } = await fixtureWith([done, slow]);
    await prompt(pod, 'first');
    const point = await pointOf(pod, 'first');
    await expect(pod.handle({ type: 'rewind', entryId: 'none' }, ADA)).rejects.toThrow(
      'there is no prompt none in this session',
    );
    await pod.handle(promptCommand('second'), ADA);
    await expect(pod.handle({ type: 'rewind', entryId: point }, ADA)).rejects.toThrow(
      'a run is active: cancel it before rewinding',
    );
    await pod.handle({ type: 'cancel' }, ADA);
    await idleSnapshot(pod);
  });

  it('refuses prompts while it restores files, and works for the next one', async () => {
    const { pod, text } = await fixtureWith([write('a.txt', 'agent'), done, done]);
    await prompt(pod, 'first');
    const rewinding = pod.handle({ type: 'rewind', entryId: await pointOf(pod, 'first') }, ADA);
    await expect(pod.handle(promptCommand('too early'), BOB)).rejects.toThrow('files are being restored');
    await rewinding;
    expect(text('a.txt')).toBeUndefined();
    await prompt(pod, 'second');
    expect(await userTexts(pod)).toEqual(['second']);
  });

  it('works after a restart, and the state after it survives another one', async () => {
    const { pod, host, reopen, put, text } = await fixtureWith([write('a.txt', 'agent'), done]);
    put('a.txt', 'before');
    await prompt(pod, 'first');
    const again = await reopened(host, reopen, pod.id);
    await rewind(again, await pointOf(again, 'first'));
    expect([text('a.txt'), await userTexts(again)]).toEqual(['before', []]);
    await again.handle({ type: 'close' }, ADA);
    expect((await again.snapshot()).state).toBe('idle');
    expect(await userTexts(again)).toEqual([]);
    const { redo } = await again.rewindPoints();
    await rewind(again, redo?.entryId ?? '');
    expect([text('a.txt'), await userTexts(again)]).toEqual(['agent', ['first']]);
  });

  it('with the same idempotency key has one effect', async () => {
    const { pod, put, text } = await fixtureWith([write('a.txt', 'agent'), done]);
    put('a.txt', 'before');
    await prompt(pod, 'first');
    const command = { type: 'rewind', entryId: await pointOf(pod, 'first') } as const;
    const receipt = await pod.handle(command, { ...ADA, key: 'k' });
    put('a.txt', 'agent');
    expect(await pod.handle(command, { ...ADA, key: 'k' })).toEqual(receipt);
    expect(text('a.txt')).toBe('agent');
  });
});

describe('saved versions of files', () => {
  it('move to the trash with their session, and back', async () => {
    const { pod, host, directory, put } = await fixtureWith([write('a.txt', 'agent'), done]);
    put('a.txt', 'before');
    await prompt(pod, 'first');
    expect(readdirSync(join(directory, 'saved-files', pod.id))).toHaveLength(1);
    await host.delete(pod.id);
    expect(readdirSync(join(directory, 'saved-files'))).toEqual([]);
    const [trashed = ''] = readdirSync(join(directory, 'trash'));
    expect(readdirSync(join(directory, 'trash', trashed, 'saved'))).toHaveLength(1);
    await moveFromTrash(realFiles, new Layout(directory), { entry: trashed, id: pod.id });
    expect(readdirSync(join(directory, 'saved-files', pod.id))).toHaveLength(1);
  });

  it('are required: without one, the file is not changed', async () => {
    const { pod, directory, put, text } = await fixtureWith([write('a.txt', 'agent'), done]);
    put('a.txt', 'before');
    // A file where the directory should be.
    writeFileSync(join(directory, 'saved-files'), '');
    await prompt(pod, 'first');
    expect(text('a.txt')).toBe('before');
  });
});

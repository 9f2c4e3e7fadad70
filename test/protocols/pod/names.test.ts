import { lstatSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createLog, redactor } from '../../../src/base/index.ts';
import { openPodDoor } from '../../../src/protocols/pod/index.ts';
import { scratch, hostFixture } from '../../pod/fixture.ts';

/** A host whose pods have sockets, and the target of each name. */
async function named() {
  const { host, cwd } = await hostFixture([]);
  const directory = join(scratch(), 'run');
  const log = createLog({ sinks: [], level: () => 'error', redact: () => redactor([]) });
  const door = await openPodDoor({ host, directory, version: '0', log });
  onTestFinished(() => door.close());
  const create = async (name: string) => {
    const pod = await host.create({ cwd, settings: { name } });
    // A pod gets its socket when it is loaded.
    await pod.snapshot();
    return pod;
  };
  const leadsTo = (name: string): string | undefined => {
    const path = join(directory, 'pods', `${name}.sock`);
    return lstatSync(path, { throwIfNoEntry: false }) && readlinkSync(path);
  };
  return { create, leadsTo };
}

const rename = (name: string) => ({ type: 'configure', set: { name } }) as const;

describe("the symbolic link from a pod's name to its socket", () => {
  it('exists while only one pod has the name', async () => {
    const { create, leadsTo } = await named();
    const first = await create('demo');
    await expect.poll(() => leadsTo('demo')).toBe(`${first.id}.sock`);
    const second = await create('demo');
    await expect.poll(() => leadsTo('demo')).toBeUndefined();
    await second.handle(rename('other'), { by: 'ada', door: 'pod' });
    await expect.poll(() => leadsTo('other')).toBe(`${second.id}.sock`);
    await expect.poll(() => leadsTo('demo')).toBe(`${first.id}.sock`);
  });

  it.each([
    ['my pod-2.0', true],
    ['Übung', true],
    ['a/b c', false],
    ['.hidden', false],
    ['x'.repeat(37), false],
  ])('exists for names that are valid file names: %s %s', async (name, isThere) => {
    const { create, leadsTo } = await named();
    // The plain name is set later, and so is its link.
    const pods = [await create(name), await create('plain')] as const;
    await expect.poll(() => leadsTo('plain')).toBe(`${pods[1].id}.sock`);
    if (isThere) await expect.poll(() => leadsTo(name)).toBe(`${pods[0].id}.sock`);
    else expect(leadsTo(name)).toBeUndefined();
  });
});

import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { messageOf, PolypodError } from '../../../base/index.ts';
import type { Pod } from '../../../pod/index.ts';
import { anyTextIn, textIn } from '../arguments.ts';
import { TEXTS } from '../errors.ts';
import { settingsFor } from '../first-pod.ts';
import type { Seat } from '../seat.ts';
import type { Command } from './command.ts';
import { saidIn } from './history.ts';
import { offer } from './offer.ts';

export const newSession: Command = async (wish, seat) => {
  const parent = anyTextIn(wish, 'parentSession');
  if (await seat.parts.extensions.cancelsSwitch('new')) return { cancelled: true };
  await seat.endRun();
  const { settings } = await seat.pod.snapshot();
  // A choice of model, tools and modes is the person's, not the session's.
  const { name: _, archived: _archived, ...kept } = settings;
  const { cwd, file } = seat.parts.sessions;
  const pod = await seat.parts.host.create({
    cwd,
    settings: kept,
    ...(file && { file }),
    ...(parent === undefined ? {} : { parentSession: parent }),
  });
  await seat.move(pod);
  return { cancelled: false };
};

export const switchSession: Command = async (wish, seat) => {
  const { cwd } = seat.parts.sessions;
  const given = textIn(wish, 'sessionPath');
  if (given.length > LONGEST_PATH || given.includes('\0'))
    throw new PolypodError(
      'bad-request',
      `switch_session needs "sessionPath" of at most ${LONGEST_PATH} characters, without zero characters`,
    );
  const path = resolve(cwd, given);
  if (await seat.parts.extensions.cancelsSwitch('resume')) return { cancelled: true };
  await seat.endRun();
  const isEmpty = await stat(path).then(
    ({ size }) => size === 0,
    () => true,
  );
  const { host, limits } = seat.parts;
  const settings = settingsFor(limits);
  // Where it cannot be opened the client stays with the session it has.
  const unusable = (thrown: unknown): never => {
    if (thrown instanceof PolypodError && thrown.code !== 'internal') throw thrown;
    throw new PolypodError('bad-request', `cannot open the session ${path}: ${messageOf(thrown)}`, {
      cause: thrown,
    });
  };
  const pod = isEmpty
    ? await host.create({ cwd, file: () => path, lazy: true, ...(settings && { settings }) }).catch(unusable)
    : await host.openFile(path).catch(unusable);
  await pod.snapshot().catch(async (thrown: unknown) => {
    if (isEmpty) await host.delete(pod.id).catch(() => {});
    return unusable(thrown);
  });
  await seat.move(pod);
  if (seat.hostTools.tools.length > 0) await offer(seat, seat.hostTools.tools);
  return { cancelled: false };
};

/** What the system takes for a path. */
const LONGEST_PATH = 4_096;

const forkAt =
  (refusal: string): Command =>
  async (wish, seat) => {
    const entryId = textIn(wish, 'entryId');
    const entry = (await seat.parts.host.tree(seat.pod.id)).get(entryId);
    if (entry?.type !== 'message' || entry.message.role !== 'user')
      throw new PolypodError('bad-request', refusal);
    const text = saidIn(entry.message);
    if (await seat.parts.extensions.cancelsSwitch('fork')) return { text, cancelled: true };
    await seat.endRun();
    await seat.move(await forked(seat, entry.parentId ?? 'root'));
    return { text, cancelled: false };
  };

export const branch = forkAt(TEXTS.branchEntry);
export const fork = forkAt(TEXTS.forkEntry);

export const clone: Command = async (_, seat) => {
  const { leafId } = await seat.parts.host.tree(seat.pod.id);
  if (leafId === null) throw new PolypodError('conflict', TEXTS.nothingToClone);
  if (await seat.parts.extensions.cancelsSwitch('fork')) return { cancelled: true };
  await seat.endRun();
  await seat.move(await forked(seat, undefined));
  return { cancelled: false };
};

function forked({ pod, parts }: Seat, entryId: string | undefined): Promise<Pod> {
  const { file } = parts.sessions;
  return parts.host.fork(pod.id, { ...(file && { file }), ...(entryId === undefined ? {} : { entryId }) });
}

export const setSessionName: Command = async (wish, seat) => {
  const name = textIn(wish, 'name')
    .replaceAll(/[\p{Cc} ]+/gu, ' ')
    .trim();
  if (name === '') throw new PolypodError('bad-request', TEXTS.emptyName);
  await seat.handle({ type: 'configure', set: { name } });
};

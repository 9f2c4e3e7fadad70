import { asPolypodError, PolypodError } from '../../../base/index.ts';
import type { Pod, SettingsChange } from '../../../pod/index.ts';
import { anyTextIn, textIn } from '../arguments.ts';
import { TEXTS } from '../errors.ts';
import { openSessionFile, refuseBadPath } from '../sessions/open-session-file.ts';
import type { Seat } from '../sessions/rpc-session.ts';
import { fileIn } from '../sessions/session-directory.ts';
import { endRun } from '../sessions/end-run.ts';
import type { Command } from './command.ts';
import { saidIn } from './history.ts';
import { offer } from './offer.ts';

export const newSession: Command = async (wish, seat) => {
  const parent = anyTextIn(wish, 'parentSession');
  const { host, extensions, sessions } = seat.parts;
  if (await extensions.cancelsSwitch('new')) return { cancelled: true };
  const { cwd, directory } = sessions;
  const pod = await host.create({
    cwd,
    settings: await followingSettings(seat),
    lazy: true,
    ...fileIn(directory),
    ...(parent === undefined ? {} : { parentSession: parent }),
  });
  await seat.leaveFor(pod);
  return { cancelled: false };
};

/**
 * What a new session begins with: a choice of model, tools and modes is the person's, not the session's. There may be no
 * account for the model of the session that is left: then the new one gets the model that new ones get.
 */
async function followingSettings(seat: Seat): Promise<SettingsChange> {
  const { name: _, archived: _archived, annotations: _notes, ...settings } = await seat.settings();
  const isUsable = await seat.pod.requireModel().then(
    () => true,
    (thrown: unknown) => asPolypodError(thrown).code !== 'bad-request',
  );
  if (isUsable) return settings;
  const { model: _model, ...others } = settings;
  const { model } = seat.parts.sessions.settings ?? {};
  return { ...others, ...(model && { model }) };
}

export const switchSession: Command = async (wish, seat) => {
  const { host, extensions, sessions } = seat.parts;
  const path = textIn(wish, 'sessionPath');
  refuseBadPath(path, 'sessionPath');
  if (await extensions.cancelsSwitch('resume')) return { cancelled: true };
  // Opened before anything ends: where it cannot be, the client stays with the session it has, and with its run.
  const settings = await followingSettings(seat);
  const pod = await openSessionFile(host, path, { cwd: sessions.cwd, settings });
  await seat.leaveFor(pod);
  if (seat.hostTools.tools.length > 0) await offer(seat, seat.hostTools.tools);
  return { cancelled: false };
};

const forkAt =
  (refusal: string): Command =>
  async (wish, seat) => {
    const entryId = textIn(wish, 'entryId');
    const entry = (await seat.parts.host.tree(seat.pod.id)).get(entryId);
    if (entry?.type !== 'message' || entry.message.role !== 'user')
      throw new PolypodError('bad-request', refusal);
    const text = saidIn(entry.message);
    if (await seat.parts.extensions.cancelsSwitch('fork')) return { text, cancelled: true };
    await endRun(seat);
    await seat.leaveFor(await forked(seat, entry.parentId ?? 'root'));
    return { text, cancelled: false };
  };

export const branch = forkAt(TEXTS.branchEntry);
export const fork = forkAt(TEXTS.forkEntry);

export const clone: Command = async (_, seat) => {
  const { leafId } = await seat.parts.host.tree(seat.pod.id);
  if (leafId === null) throw new PolypodError('conflict', TEXTS.nothingToClone);
  if (await seat.parts.extensions.cancelsSwitch('fork')) return { cancelled: true };
  await endRun(seat);
  await seat.leaveFor(await forked(seat, undefined));
  return { cancelled: false };
};

function forked({ pod, parts }: Seat, entryId: string | undefined): Promise<Pod> {
  const { directory } = parts.sessions;
  return parts.host.fork(pod.id, { ...fileIn(directory), ...(entryId === undefined ? {} : { entryId }) });
}

export const setSessionName: Command = async (wish, seat) => {
  const name = textIn(wish, 'name')
    .replaceAll(/[\p{Cc} ]+/gu, ' ')
    .trim();
  if (name === '') throw new PolypodError('bad-request', TEXTS.emptyName);
  if (name.length > 200) throw new PolypodError('bad-request', TEXTS.longName);
  await seat.handle({ type: 'configure', set: { name } });
};

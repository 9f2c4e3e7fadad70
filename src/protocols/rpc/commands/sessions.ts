import { asPolypodError, PolypodError, withoutUndefined } from '../../../base/index.ts';
import type { Pod, SettingsChange } from '../../../pod/index.ts';
import { anyTextIn, textIn } from '../arguments.ts';
import { TEXTS } from '../errors.ts';
import { openSessionFile, refuseBadPath } from '../sessions/open-session-file.ts';
import type { RpcSession } from '../sessions/rpc-session.ts';
import { fileIn } from '../sessions/session-directory.ts';
import { endRun } from '../sessions/end-run.ts';
import type { CommandHandler } from './command.ts';
import { typedText } from './history.ts';
import { offer } from './offer.ts';

export const newSession: CommandHandler = async (request, session) => {
  const parent = anyTextIn(request, 'parentSession');
  const { host, extensions, sessions } = session.parts;
  if (await extensions.cancelsSwitch('new')) return { cancelled: true };
  const { cwd, directory } = sessions;
  const pod = await host.create({
    cwd,
    settings: await followingSettings(session),
    lazy: true,
    ...fileIn(directory),
    ...withoutUndefined({ parentSession: parent }),
  });
  await session.switchTo(pod);
  return { cancelled: false };
};

/**
 * The settings of the next session: model, tools and modes are choices of the person and carry over. If there is no account for the model
 * of the previous session, the new session gets the default model.
 */
async function followingSettings(session: RpcSession): Promise<SettingsChange> {
  const { name: _, archived: _archived, annotations: _notes, ...settings } = await session.settings();
  const isUsable = await session.pod.requireModel().then(
    () => true,
    (thrown: unknown) => asPolypodError(thrown).code !== 'bad-request',
  );
  if (isUsable) return settings;
  const { model: _model, ...others } = settings;
  const { model } = session.parts.sessions.settings ?? {};
  return { ...others, ...withoutUndefined({ model }) };
}

export const switchSession: CommandHandler = async (request, session) => {
  const { host, extensions, sessions } = session.parts;
  const path = textIn(request, 'sessionPath');
  refuseBadPath(path, 'sessionPath');
  if (await extensions.cancelsSwitch('resume')) return { cancelled: true };
  // The session is opened before the current run ends: if opening fails, the client keeps its session and run.
  const settings = await followingSettings(session);
  const pod = await openSessionFile(host, path, { cwd: sessions.cwd, settings });
  await session.switchTo(pod);
  if (session.hostTools.tools.length > 0) await offer(session, session.hostTools.tools);
  return { cancelled: false };
};

const forkAt =
  (refusal: string): CommandHandler =>
  async (request, session) => {
    const entryId = textIn(request, 'entryId');
    const prompts = await session.parts.host.history.prompts(session.pod.id);
    const prompt = prompts.find((candidate) => candidate.entryId === entryId);
    if (prompt === undefined) throw new PolypodError('bad-request', refusal);
    const text = typedText(prompt.message);
    if (await session.parts.extensions.cancelsSwitch('fork')) return { text, cancelled: true };
    await endRun(session);
    await session.switchTo(await forked(session, prompt.before));
    return { text, cancelled: false };
  };

export const branch = forkAt(TEXTS.branchEntry);
export const fork = forkAt(TEXTS.forkEntry);

export const clone: CommandHandler = async (_, session) => {
  if (await session.parts.host.history.isEmpty(session.pod.id))
    throw new PolypodError('conflict', TEXTS.nothingToClone);
  if (await session.parts.extensions.cancelsSwitch('fork')) return { cancelled: true };
  await endRun(session);
  await session.switchTo(await forked(session, undefined));
  return { cancelled: false };
};

function forked({ pod, parts }: RpcSession, entryId: string | undefined): Promise<Pod> {
  const { directory } = parts.sessions;
  return parts.host.fork(pod.id, { ...fileIn(directory), ...withoutUndefined({ entryId }) });
}

export const setSessionName: CommandHandler = async (request, session) => {
  const name = textIn(request, 'name')
    .replaceAll(/[\p{Cc} ]+/gu, ' ')
    .trim();
  if (name === '') throw new PolypodError('bad-request', TEXTS.emptyName);
  if (name.length > 200) throw new PolypodError('bad-request', TEXTS.longName);
  await session.handle({ type: 'configure', set: { name } });
};

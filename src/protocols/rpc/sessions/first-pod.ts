import { PolypodError, withoutUndefined } from '../../../base/index.ts';
import { resolve } from 'node:path';
import {
  type Host,
  type ModelChoice,
  type OfferedModel,
  OWN_BACKEND,
  type Pod,
  type SettingsChange,
} from '../../../pod/index.ts';
import { openSessionFile } from './open-session-file.ts';
import type { RpcSessions } from '../parts.ts';
import { calledIn, fileIn, latestIn } from './session-directory.ts';

/** The session that the command line selects. */
export interface SessionSelection {
  /** For a new session. A session that exists must have it. */
  readonly backend?: string;
  /** A path, an id, or the beginning or end of an id. */
  readonly resume?: string;
  readonly fork?: string;
  readonly isContinued?: boolean;
}

/** Resolves a session reference. */
export type FindSession = (word: string) => Promise<{ readonly id: string }>;

/** Opens the session that the command line selects; a new one if it selects none. */
export async function firstPod(
  host: Host,
  sessions: RpcSessions,
  { backend, resume, fork, isContinued = false }: SessionSelection,
  find: FindSession,
): Promise<Pod> {
  const { cwd, settings, flags, directory } = sessions;
  const called = async (word: string): Promise<Pod> => {
    try {
      return host.pod((await find(word)).id);
    } catch (thrown) {
      const there = directory === undefined ? undefined : await calledIn(directory, word, host);
      if (there === undefined) throw thrown;
      return there;
    }
  };
  const pod = async (): Promise<Pod | undefined> => {
    if (fork !== undefined) {
      const source = isPath(fork) ? await host.openFile(resolve(cwd, fork)) : await called(fork);
      return host.fork(source.id, fileIn(directory));
    }
    if (resume !== undefined)
      return isPath(resume) ? openSessionFile(host, resume, { cwd, settings }) : called(resume);
    if (!isContinued) return undefined;
    if (directory !== undefined) return latestIn(directory, host);
    const [latest] = await host.sessions.list({ cwd, spawned: false, limit: 1 });
    return latest && host.pod(latest.id);
  };
  const known = await pod();
  if (known === undefined) {
    const pod = await host.create({
      cwd,
      lazy: true,
      ...withoutUndefined({ settings }),
      ...fileIn(directory),
    });
    // An unknown back end is refused before `ready`.
    if (backend !== undefined) await pod.snapshot();
    return pod;
  }
  if (backend !== undefined) await requireBackend(known, backend);
  // Both open the session, so that a session that another process has open is refused before `ready`.
  if (flags === undefined) await known.snapshot();
  else await known.handle({ type: 'configure', set: flags });
  return known;
}

async function requireBackend(pod: Pod, wanted: string): Promise<void> {
  const { backend = OWN_BACKEND } = (await pod.snapshot()).settings;
  if (backend !== wanted)
    throw new PolypodError(
      'conflict',
      `the back end of the session is ${backend}: leave out --backend, or start a new session`,
    );
}

function isPath(word: string): boolean {
  return word.includes('/') || word.endsWith('.jsonl');
}

type RequestedSettings = Pick<
  SettingsChange,
  'model' | 'thinking' | 'system' | 'appendSystem' | 'toolLimit' | 'contextFiles'
>;

/** The session settings of the command line; undefined if there are none. */
export function settingsFor({
  model,
  thinking,
  system,
  appendSystem,
  toolLimit,
  contextFiles,
}: { readonly [K in keyof RequestedSettings]?: RequestedSettings[K] | undefined }):
  | SettingsChange
  | undefined {
  const settings = {
    ...withoutUndefined({ model, thinking, system, appendSystem, toolLimit, contextFiles }),
  };
  return Object.keys(settings).length === 0 ? undefined : settings;
}

export function choiceOf({ provider, id }: Pick<OfferedModel, 'provider' | 'id'>): ModelChoice {
  return { provider, modelId: id };
}

/**
 * The settings of new sessions. The model that answers is stored in the session, so that a continuation uses it. The simulated model is
 * stored only if it was requested: otherwise it is a fallback.
 */
export function newSettings(
  flags: SettingsChange | undefined,
  model: ModelChoice,
  backend: string | undefined,
): SettingsChange {
  const settings = { ...flags, backend: backend ?? OWN_BACKEND };
  const isOpen = flags?.model === undefined && backend === undefined;
  return isOpen && model.provider !== 'sim' ? { ...settings, model } : settings;
}

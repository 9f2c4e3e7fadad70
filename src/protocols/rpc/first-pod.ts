import { resolve } from 'node:path';
import type { Host, Pod, SettingsChange } from '../../pod/index.ts';
import type { RpcSessions } from './parts.ts';

/** Which session the command line asks for. */
export interface SessionWish {
  /** A path, an id, or the beginning of one. */
  readonly resume?: string;
  readonly fork?: string;
  readonly isContinued?: boolean;
}

/** What finds a session by a word, among those there are. */
export type FindSession = (word: string) => Promise<{ readonly id: string }>;

/** The session that the command line asks for; a new one if it names none. */
export async function firstPod(
  host: Host,
  sessions: RpcSessions,
  { resume, fork, isContinued = false }: SessionWish,
  find: FindSession,
): Promise<Pod> {
  const { cwd, settings, file } = sessions;
  const called = async (word: string): Promise<Pod> =>
    word.includes('/') || word.endsWith('.jsonl')
      ? host.openFile(resolve(cwd, word))
      : host.pod((await find(word)).id);
  if (fork !== undefined) return host.fork((await called(fork)).id, file === undefined ? {} : { file });
  const [latest] = isContinued && resume === undefined ? await host.list({ cwd, limit: 1 }) : [];
  const pod = resume === undefined ? latest && host.pod(latest.id) : await called(resume);
  if (pod === undefined)
    return host.create({ cwd, lazy: true, ...(settings && { settings }), ...(file && { file }) });
  if (settings !== undefined) await pod.handle({ type: 'configure', set: settings });
  return pod;
}

type Said = Pick<
  SettingsChange,
  'model' | 'thinking' | 'system' | 'appendSystem' | 'toolLimit' | 'contextFiles'
>;

/** What the command line says about a session; undefined when it says nothing. */
export function settingsFor({
  model,
  thinking,
  system,
  appendSystem,
  toolLimit,
  contextFiles,
}: { readonly [K in keyof Said]?: Said[K] | undefined }): SettingsChange | undefined {
  const settings = {
    ...(model === undefined ? {} : { model }),
    ...(thinking === undefined ? {} : { thinking }),
    ...(system === undefined ? {} : { system }),
    ...(appendSystem === undefined ? {} : { appendSystem }),
    ...(toolLimit === undefined ? {} : { toolLimit }),
    ...(contextFiles === undefined ? {} : { contextFiles }),
  };
  return Object.keys(settings).length === 0 ? undefined : settings;
}

import { PolypodError, settlesWithin } from '../../base/index.ts';
import type { ExtensionUi } from '../../extensions/index.ts';
import type { Agent } from '../../pod/index.ts';
import { refuseUnsafeFile } from '../paths/refuse-unsafe-file.ts';
import { extendedAgent, keepOffStdout } from './extended-agent.ts';

/** How long the end of a session waits for the hooks of extensions. */
const HOOK_MS = 300;

export interface AgentExtensionsOptions {
  /** Absolute paths. */
  readonly files: readonly string[];
  readonly cwd: string;
  /** Called for an error in an extension; the others stay loaded. */
  readonly onError: (path: string, event: string, error: string) => void;
}

/** Adds extensions to an agent that has no user interface of its own: their tools and their hooks for calls. */
export async function withExtensions(
  agent: Agent,
  { files, cwd, onError }: AgentExtensionsOptions,
): Promise<Agent> {
  if (files.length === 0) return agent;
  const { Extensions: Loaded } = await import('../../extensions/index.ts');
  keepOffStdout(console);
  const loaded = new Loaded({
    cwd,
    ui: NO_UI,
    hasUI: false,
    send: () => {
      throw unavailable('send');
    },
    shutdown: () => {
      throw unavailable('shutdown');
    },
    isIdle: () => false,
    abort: () => {
      throw unavailable('abort');
    },
    checkFile: (file) => refuseUnsafeFile('the extension', file),
    onError,
  });
  for (const file of files) await loaded.load(file);
  loaded.sessionStarted();
  const close = async (): Promise<void> => {
    await settlesWithin(loaded.close(), HOOK_MS);
    await agent.close();
  };
  return extendedAgent(agent, () => loaded, close);
}

function unavailable(name: string): PolypodError {
  return new PolypodError(
    'bad-request',
    `${name}() works only with polypod --mode rpc -e: here, an extension has tools and hooks`,
  );
}

const ignored = (): void => {};

/** Dialogs return their defaults, as if the user had dismissed them. */
const NO_UI: ExtensionUi = {
  select: async () => undefined,
  confirm: async () => false,
  input: async () => undefined,
  editor: async () => undefined,
  notify: ignored,
  setStatus: ignored,
  setWidget: ignored,
  setTitle: ignored,
  setEditorText: ignored,
};

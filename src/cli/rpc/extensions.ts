import { withoutUndefined } from '../../base/index.ts';
import type { Extensions, ExtensionUi } from '../../extensions/index.ts';
import type { OpenAgent } from '../../pod/index.ts';
import type { RpcExtensions, UiRequests } from '../../protocols/index.ts';
import { extendedAgent, keepOffStdout } from '../../setup/index.ts';

export interface RpcExtensionsOptions {
  readonly files: readonly string[];
  readonly cwd: string;
  /** Most clients cannot set a title. */
  readonly emitsTitle: boolean;
}

/** Loads the extensions of a connection: what they add to the protocol and to agents. */
export function rpcExtensions({ files, cwd, emitsTitle }: RpcExtensionsOptions): {
  readonly extensions: RpcExtensions;
  readonly extended: (agents: OpenAgent) => OpenAgent;
} {
  let loaded: Extensions | undefined;
  return {
    extensions: {
      start: async ({ ui, failed, ...link }) => {
        if (files.length === 0) return;
        const { Extensions: Loaded } = await import('../../extensions/index.ts');
        keepOffStdout(console);
        loaded = new Loaded({ cwd, ui: extensionUi(ui, emitsTitle), onError: failed, ...link });
        for (const file of files) await loaded.load(file);
        loaded.sessionStarted();
      },
      commands: () => loaded?.commands ?? [],
      run: (name, args) => loaded?.run(name, args) ?? false,
      cancelsSwitch: async (reason) => (await loaded?.cancelsSwitch(reason)) ?? false,
      sessionStarted: () => loaded?.sessionStarted(),
      observe: (event) => loaded?.observe(event),
      close: async () => loaded?.close(),
    },
    extended: (agents) =>
      files.length === 0 ? agents : async (context) => extendedAgent(await agents(context), () => loaded),
  };
}

function extensionUi(ui: UiRequests, emitsTitle: boolean): ExtensionUi {
  const timed = (timeout: number | undefined) => (timeout === undefined ? {} : { timeout });
  return {
    select: (title, options, { timeout, signal } = {}) =>
      ui.text({ method: 'select', title, options, ...timed(timeout) }, signal),
    confirm: (title, message, { timeout, signal } = {}) =>
      ui.confirm({ title, message, ...timed(timeout) }, signal),
    input: (title, placeholder, { timeout, signal } = {}) =>
      ui.text({ method: 'input', title, ...withoutUndefined({ placeholder }), ...timed(timeout) }, signal),
    editor: (title, prefill, { signal } = {}) =>
      ui.text({ method: 'editor', title, ...withoutUndefined({ prefill }) }, signal),
    notify: (message, notifyType = 'info') => ui.notify({ method: 'notify', message, notifyType }),
    setStatus: (statusKey, statusText) =>
      ui.notify({ method: 'setStatus', statusKey, ...withoutUndefined({ statusText }) }),
    setWidget: (widgetKey, widgetLines, widgetPlacement) =>
      ui.notify({
        method: 'setWidget',
        widgetKey,
        ...withoutUndefined({ widgetLines, widgetPlacement }),
      }),
    setTitle: (title) => {
      if (emitsTitle) ui.notify({ method: 'setTitle', title });
    },
    setEditorText: (text) => ui.notify({ method: 'set_editor_text', text }),
  };
}

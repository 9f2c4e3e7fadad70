import { pathToFileURL } from 'node:url';
import { isObject, messageOf, PolypodError } from '../base/index.ts';
import type { Tool } from '../tools/index.ts';
import type { Extension, ExtensionApi, ExtensionCommand, ExtensionHooks, ExtensionUi } from './api.ts';
import { guarded, toolFrom } from './tool.ts';

/** What extensions need of whoever loads them. */
export interface ExtensionHost {
  readonly cwd: string;
  readonly ui: ExtensionUi;
  readonly send: (text: string) => void;
  readonly shutdown: () => void;
  /** Something in an extension failed; it goes on without that. */
  readonly failed: (path: string, event: string, error: string) => void;
}

/** The extensions of a process: what they have registered, and how it is called. */
export class Extensions {
  readonly #host: ExtensionHost;
  readonly #tools: Tool[] = [];
  readonly #commands = new Map<string, ExtensionCommand & { readonly path: string }>();
  readonly #switchHooks: { readonly path: string; readonly hook: ExtensionHooks['session_before_switch'] }[] =
    [];
  readonly #callHooks: ExtensionHooks['tool_call'][] = [];

  constructor(host: ExtensionHost) {
    this.#host = host;
  }

  get tools(): readonly Tool[] {
    return this.#tools;
  }

  get commands(): readonly { readonly name: string; readonly description?: string; readonly path: string }[] {
    return [...this.#commands].map(([name, { description, path }]) => ({
      name,
      ...(description === undefined ? {} : { description }),
      path,
    }));
  }

  /** Loads a module. One that fails is told of, and what it had registered before stays. */
  async load(path: string): Promise<void> {
    try {
      await extensionIn(await import(pathToFileURL(path).href), path)(this.#apiFor(path));
    } catch (thrown) {
      this.#host.failed(path, 'load', messageOf(thrown));
    }
  }

  /** All tools of an agent, with the hooks in front of each and the extensions' own among them. */
  extend(tools: readonly Tool[]): readonly Tool[] {
    return [...tools, ...this.#tools].map((tool) => guarded(tool, this.#callHooks));
  }

  /** Runs a command; false when there is none of that name. */
  run(name: string, args: string): boolean {
    const command = this.#commands.get(name);
    if (command === undefined) return false;
    // Begun now, so that what it asks comes before the answer to whoever called it.
    const running = (async () => command.handler(args))();
    running.catch((thrown: unknown) => this.#host.failed(`command:${name}`, 'command', messageOf(thrown)));
    return true;
  }

  /** Whether one objects. A hook that fails has no say. */
  async cancelsSwitch(reason: 'new' | 'resume' | 'fork'): Promise<boolean> {
    for (const { path, hook } of this.#switchHooks) {
      try {
        const objection = await hook({ reason });
        if (objection?.cancel === true) return true;
      } catch (thrown) {
        this.#host.failed(path, 'session_before_switch', messageOf(thrown));
      }
    }
    return false;
  }

  #apiFor(path: string): ExtensionApi {
    const { cwd, ui, send, shutdown } = this.#host;
    return {
      cwd,
      ui,
      send,
      shutdown,
      registerTool: (tool) => {
        if (this.#tools.some(({ name }) => name === tool.name))
          throw new PolypodError('conflict', `there is a tool ${tool.name} of another extension`);
        this.#tools.push(toolFrom(tool));
      },
      registerCommand: (name, { description, handler }) => {
        if (!/^[\w:-]+$/.test(name))
          throw new PolypodError('bad-request', `a command cannot be called "${name}"`);
        this.#commands.set(name, { handler, path, ...(description === undefined ? {} : { description }) });
      },
      on: (event, hook) => this.#listen(path, { [event]: hook }),
    };
  }

  #listen(path: string, { session_before_switch, tool_call }: Partial<ExtensionHooks>): void {
    if (session_before_switch !== undefined) this.#switchHooks.push({ path, hook: session_before_switch });
    else if (tool_call !== undefined) this.#callHooks.push(tool_call);
    else throw new PolypodError('bad-request', 'an extension listens to something that does not happen here');
  }
}

function extensionIn(module: unknown, path: string): Extension {
  const found: unknown = isObject(module) ? module.default : undefined;
  if (typeof found !== 'function')
    throw new PolypodError('bad-request', `${path} has no default export that is a function`);
  // What the function takes can only be found out by calling it.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return found as Extension;
}

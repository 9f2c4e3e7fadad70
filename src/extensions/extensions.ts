import { isObject, messageOf, type JsonObject, PolypodError, withoutUndefined } from '../base/index.ts';
import type { Tool } from '../tools/index.ts';
import type {
  Extension,
  ExtensionApi,
  ExtensionCommand,
  ExtensionContext,
  ExtensionUi,
  PiContent,
} from './api.ts';
import { Hooks, CLIENT_EVENTS } from './hooks.ts';
import { loadModule } from './load-module.ts';
import { exec } from './exec.ts';
import { withApiRefusals, withContextRefusals } from './pi/refusals.ts';
import { piUi } from './pi/ui.ts';
import { withHooks, createTool } from './tool.ts';

/** What extensions need from the program that loads them. */
export interface ExtensionHost {
  readonly cwd: string;
  readonly ui: ExtensionUi;
  /** Whether a user can answer dialogs; default true. */
  readonly hasUI?: boolean;
  /** Sends a message to the agent. During a run it is queued according to `whenBusy`, and rejected without it. */
  readonly send: (content: readonly PiContent[], whenBusy?: 'steer' | 'followUp') => void;
  readonly shutdown: () => void;
  readonly isIdle: () => boolean;
  readonly abort: () => void;
  /** Throws if a file must not be executed. For a directory, it receives the index file. */
  readonly checkFile?: (file: string) => void;
  /** Called for an error in an extension, which stays loaded. */
  readonly onError: (path: string, event: string, error: string) => void;
}

type SwitchReason = 'new' | 'resume' | 'fork';

/** The extensions of a process, with their tools, commands and hooks. */
export class Extensions {
  readonly #host: ExtensionHost;
  readonly #context: ExtensionContext;
  readonly #hooks: Hooks;
  readonly #tools: Tool[] = [];
  readonly #commands = new Map<string, ExtensionCommand & { readonly path: string }>();
  /** The reason of the latest session switch. */
  #reason: SwitchReason | 'startup' = 'startup';
  #turns = 0;

  constructor(host: ExtensionHost) {
    this.#host = host;
    const { cwd, hasUI = true, isIdle, abort, shutdown, onError } = host;
    this.#context = withContextRefusals({ ui: piUi(host.ui), hasUI, cwd, isIdle, abort, shutdown });
    this.#hooks = new Hooks({ context: this.#context, onError });
  }

  get tools(): readonly Tool[] {
    return this.#tools;
  }

  get commands(): readonly { readonly name: string; readonly description?: string; readonly path: string }[] {
    return [...this.#commands].map(([name, { description, path }]) => ({
      name,
      ...withoutUndefined({ description }),
      path,
    }));
  }

  /** Loads a module. A failure is reported; what the module registered before stays registered. */
  async load(path: string): Promise<void> {
    try {
      await defaultExport(await loadModule(path, this.#host.checkFile), path)(this.#createApi(path));
    } catch (thrown) {
      this.#host.onError(path, 'load', messageOf(thrown));
    }
  }

  /** All tools of an agent, including those of extensions, with hooks. A tool of an extension replaces one of the same name. */
  extend(tools: readonly Tool[]): readonly Tool[] {
    const others = tools.filter(({ name }) => !this.#tools.some((own) => own.name === name));
    return [...others, ...this.#tools].map((tool) => withHooks(tool, this.#hooks));
  }

  /** Runs a command; returns false if it does not exist. */
  run(name: string, args: string): boolean {
    const command = this.#commands.get(name);
    if (command === undefined) return false;
    // Started synchronously, so that its dialogs are sent before the response to the caller.
    const running = (async () => command.handler(args, this.#context))();
    running.catch((thrown: unknown) => this.#host.onError(`command:${name}`, 'command', messageOf(thrown)));
    return true;
  }

  /** Whether a hook cancels the switch. Failing hooks are ignored. */
  async cancelsSwitch(reason: SwitchReason): Promise<boolean> {
    this.#reason = reason;
    const isCancelled = ({ cancel }: { readonly cancel?: boolean }): boolean => cancel === true;
    const decision =
      (await this.#hooks.ask('session_before_switch', { reason }, isCancelled)) ??
      (reason === 'fork' ? await this.#hooks.ask('session_before_fork', { reason }, isCancelled) : undefined);
    return decision !== undefined;
  }

  /** Call when the client has opened a session. */
  sessionStarted(): void {
    this.#hooks.notify('session_start', { reason: this.#reason });
  }

  /** Forwards an event of the client to the extensions. */
  observe(event: JsonObject & { readonly type: string }): void {
    const name = CLIENT_EVENTS.find((observed) => observed === event.type);
    if (name === 'agent_start') this.#turns = 0;
    if (name !== undefined && this.#hooks.has(name)) {
      // A copy, so that extensions cannot change the event. pi numbers turns, our client events do not.
      const copy = structuredClone<JsonObject>(event);
      this.#hooks.notify(name, name.startsWith('turn_') ? { ...copy, turnIndex: this.#turns } : copy);
    }
    if (name === 'turn_end') this.#turns += 1;
  }

  /** Notifies the extensions that the program ends, and waits for them. */
  async close(): Promise<void> {
    await this.#hooks.notifyAndWait('session_shutdown', { reason: 'quit' });
  }

  #createApi(path: string): ExtensionApi {
    const { cwd, send, shutdown, isIdle } = this.#host;
    return withApiRefusals<ExtensionApi>({
      cwd,
      ui: this.#context.ui,
      shutdown,
      send: (text) => send([{ type: 'text', text }], 'followUp'),
      sendUserMessage: (content, { deliverAs } = {}) => {
        if (deliverAs === undefined && !isIdle())
          throw new PolypodError('conflict', 'the agent is busy: give deliverAs, which is steer or followUp');
        send(typeof content === 'string' ? [{ type: 'text', text: content }] : content, deliverAs);
      },
      exec: (command, args, options = {}) => exec(command, args, { cwd, ...options }),
      registerTool: (tool) => {
        if (this.#tools.some(({ name }) => name === tool.name))
          throw new PolypodError('conflict', `another extension has already registered a tool ${tool.name}`);
        this.#tools.push(createTool(tool, this.#context));
      },
      registerCommand: (name, { description, handler }) => {
        if (!/^[\w:-]+$/.test(name))
          throw new PolypodError('bad-request', `"${name}" is not a valid command name`);
        this.#commands.set(name, { handler, path, ...withoutUndefined({ description }) });
      },
      on: (event, hook) => this.#hooks.add(path, event, hook),
    });
  }
}

function defaultExport(module: unknown, path: string): Extension {
  const found: unknown =
    isObject(module) || typeof module === 'function' ? Reflect.get(module, 'default') : undefined;
  if (typeof found !== 'function')
    throw new PolypodError('bad-request', `${path} has no default export that is a function`);
  // The function's parameters cannot be checked at run time.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return found as Extension;
}

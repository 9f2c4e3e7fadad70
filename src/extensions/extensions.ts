import { isObject, messageOf, type JsonObject, PolypodError } from '../base/index.ts';
import type { Tool } from '../tools/index.ts';
import type {
  Extension,
  ExtensionApi,
  ExtensionCommand,
  ExtensionContext,
  ExtensionUi,
  PiContent,
} from './api.ts';
import { Hooks, OBSERVED } from './hooks.ts';
import { loadModule } from './load-module.ts';
import { exec } from './exec.ts';
import { withApiRefusals, withContextRefusals } from './pi/refusals.ts';
import { piUi } from './pi/ui.ts';
import { hooked, toolFrom } from './tool.ts';

/** What extensions need of whoever loads them. */
export interface ExtensionHost {
  readonly cwd: string;
  readonly ui: ExtensionUi;
  /** Says something to the agent. During a run it is queued as `whenBusy` says, and refused if that says nothing. */
  readonly send: (content: readonly PiContent[], whenBusy?: 'steer' | 'followUp') => void;
  readonly shutdown: () => void;
  readonly isIdle: () => boolean;
  readonly abort: () => void;
  /** Something in an extension failed; it goes on without that. */
  readonly failed: (path: string, event: string, error: string) => void;
}

type SwitchReason = 'new' | 'resume' | 'fork';

/** The extensions of a process: what they have registered, and how it is called. */
export class Extensions {
  readonly #host: ExtensionHost;
  readonly #context: ExtensionContext;
  readonly #hooks: Hooks;
  readonly #tools: Tool[] = [];
  readonly #commands = new Map<string, ExtensionCommand & { readonly path: string }>();
  /** Why the client last wanted to leave its session. */
  #reason: SwitchReason | 'startup' = 'startup';
  #turns = 0;

  constructor(host: ExtensionHost) {
    this.#host = host;
    const { cwd, isIdle, abort, shutdown, failed } = host;
    this.#context = withContextRefusals({ ui: piUi(host.ui), hasUI: true, cwd, isIdle, abort, shutdown });
    this.#hooks = new Hooks({ context: this.#context, failed });
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
      await extensionIn(await loadModule(path), path)(this.#apiFor(path));
    } catch (thrown) {
      this.#host.failed(path, 'load', messageOf(thrown));
    }
  }

  /** All tools of an agent, with the hooks around each and the extensions' own among them. */
  extend(tools: readonly Tool[]): readonly Tool[] {
    return [...tools, ...this.#tools].map((tool) => hooked(tool, this.#hooks));
  }

  /** Runs a command; false when there is none of that name. */
  run(name: string, args: string): boolean {
    const command = this.#commands.get(name);
    if (command === undefined) return false;
    // Begun now, so that what it asks comes before the answer to whoever called it.
    const running = (async () => command.handler(args, this.#context))();
    running.catch((thrown: unknown) => this.#host.failed(`command:${name}`, 'command', messageOf(thrown)));
    return true;
  }

  /** Whether one objects. A hook that fails has no say. */
  async cancelsSwitch(reason: SwitchReason): Promise<boolean> {
    this.#reason = reason;
    const objects = ({ cancel }: { readonly cancel?: boolean }): boolean => cancel === true;
    const objection =
      (await this.#hooks.ask('session_before_switch', { reason }, objects)) ??
      (reason === 'fork' ? await this.#hooks.ask('session_before_fork', { reason }, objects) : undefined);
    return objection !== undefined;
  }

  /** The client works with a session now. */
  sessionStarted(): void {
    this.#hooks.tell('session_start', { reason: this.#reason });
  }

  /** Tells extensions what the client is told. */
  observe(event: JsonObject & { readonly type: string }): void {
    const name = OBSERVED.find((observed) => observed === event.type);
    if (name === 'agent_start') this.#turns = 0;
    if (name !== undefined && this.#hooks.has(name)) {
      // What extensions do to their copy changes nothing. pi numbers turns, and clients are not told the numbers.
      const copy = structuredClone<JsonObject>(event);
      this.#hooks.tell(name, name.startsWith('turn_') ? { ...copy, turnIndex: this.#turns } : copy);
    }
    if (name === 'turn_end') this.#turns += 1;
  }

  /** The program ends: what extensions still have to do is waited for. */
  async close(): Promise<void> {
    await this.#hooks.finish('session_shutdown', { reason: 'quit' });
  }

  #apiFor(path: string): ExtensionApi {
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
          throw new PolypodError('conflict', `there is a tool ${tool.name} of another extension`);
        this.#tools.push(toolFrom(tool, this.#context));
      },
      registerCommand: (name, { description, handler }) => {
        if (!/^[\w:-]+$/.test(name))
          throw new PolypodError('bad-request', `a command cannot be called "${name}"`);
        this.#commands.set(name, { handler, path, ...(description === undefined ? {} : { description }) });
      },
      on: (event, hook) => this.#hooks.add(path, event, hook),
    });
  }
}

function extensionIn(module: unknown, path: string): Extension {
  const found: unknown =
    isObject(module) || typeof module === 'function' ? Reflect.get(module, 'default') : undefined;
  if (typeof found !== 'function')
    throw new PolypodError('bad-request', `${path} has no default export that is a function`);
  // What the function takes can only be found out by calling it.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return found as Extension;
}

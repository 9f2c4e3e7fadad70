import { messageOf, PolypodError } from '../base/index.ts';
import type { ExtensionContext, ExtensionEvents, ExtensionHook } from './api.ts';

type Name = keyof ExtensionEvents;

/** A hook and the extension that registered it. */
interface Hook<E extends Name> {
  readonly path: string;
  readonly call: ExtensionHook<E>;
}

/** Events that forward what the client receives. */
export const CLIENT_EVENTS = [
  'agent_start',
  'agent_end',
  'turn_start',
  'turn_end',
  'message_start',
  'message_end',
  'tool_execution_start',
  'tool_execution_update',
  'tool_execution_end',
] as const satisfies readonly Name[];

/** All supported events. Registering for other events of pi fails, so that the problem is visible at load time. */
const EVENTS: ReadonlySet<string> = new Set([
  'tool_call',
  'tool_result',
  'session_before_switch',
  'session_before_fork',
  'session_start',
  'session_shutdown',
  ...CLIENT_EVENTS,
] satisfies readonly Name[]);

export interface HooksOptions {
  readonly context: ExtensionContext;
  /** Called when a hook fails; the other hooks still run. */
  readonly onError: (path: string, event: string, error: string) => void;
}

/** The hooks of all extensions, in the order of registration. */
export class Hooks {
  readonly #options: HooksOptions;
  readonly #hooks: { readonly [E in Name]?: Hook<E>[] } = {};

  constructor(options: HooksOptions) {
    this.#options = options;
  }

  /** Registers a hook; throws for unsupported events. */
  add<E extends Name>(path: string, event: E, call: ExtensionHook<E>): void {
    if (!EVENTS.has(event))
      throw new PolypodError(
        'bad-request',
        `on("${event}") does not work in Polypod: extensions can listen to ${[...EVENTS].join(', ')}`,
      );
    if (typeof call !== 'function')
      throw new PolypodError('bad-request', `on("${event}") needs a function as its second argument`);
    this.#hooksFor(event).push({ path, call });
  }

  has(event: Name): boolean {
    return this.#hooksFor(event).length > 0;
  }

  /** Calls the hooks in order until one returns an answer that `isEnough`. The answer of a hook that throws is `broken`, or none. */
  async ask<E extends Name>(
    event: E,
    data: ExtensionEvents[E][0],
    isEnough: (answer: ExtensionEvents[E][1]) => boolean,
    broken?: (error: string) => ExtensionEvents[E][1],
  ): Promise<ExtensionEvents[E][1] | undefined> {
    for (const { path, call } of this.#hooksFor(event)) {
      const answer = await this.#call(event, { path, call }, data, broken);
      if (answer !== undefined && isEnough(answer)) return answer;
    }
    return undefined;
  }

  /** Calls all hooks without waiting for them. */
  notify<E extends Name>(event: E, data: ExtensionEvents[E][0]): void {
    for (const hook of this.#hooksFor(event)) void this.#call(event, hook, data);
  }

  /** Calls all hooks and waits for them. */
  async notifyAndWait<E extends Name>(event: E, data: ExtensionEvents[E][0]): Promise<void> {
    await Promise.all(this.#hooksFor(event).map((hook) => this.#call(event, hook, data)));
  }

  async #call<E extends Name>(
    event: E,
    { path, call }: Hook<E>,
    data: ExtensionEvents[E][0],
    broken?: (error: string) => ExtensionEvents[E][1],
  ): Promise<ExtensionEvents[E][1] | undefined> {
    try {
      // Some hooks return null instead of undefined.
      return (await call({ type: event, ...data }, this.#options.context)) ?? undefined;
    } catch (thrown) {
      const error = messageOf(thrown);
      this.#options.onError(path, event, error);
      return broken?.(error);
    }
  }

  #hooksFor<E extends Name>(event: E): Hook<E>[] {
    const hooks: { [N in Name]?: Hook<N>[] } = this.#hooks;
    return (hooks[event] ??= []);
  }
}

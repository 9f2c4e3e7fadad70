import { messageOf, PolypodError } from '../base/index.ts';
import type { ExtensionContext, ExtensionEvents, ExtensionHook } from './api.ts';

type Name = keyof ExtensionEvents;

/** Something that an extension wants to be called for. */
interface Hook<E extends Name> {
  readonly path: string;
  readonly call: ExtensionHook<E>;
}

/** Events that only tell what the client is told. */
export const OBSERVED = [
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

/** All events there are. Others of pi's are refused, so that an extension learns it when it is loaded. */
const EVENTS: ReadonlySet<string> = new Set([
  'tool_call',
  'tool_result',
  'session_before_switch',
  'session_before_fork',
  'session_start',
  'session_shutdown',
  ...OBSERVED,
] satisfies readonly Name[]);

export interface HooksOptions {
  readonly context: ExtensionContext;
  /** A hook failed; the rest goes on. */
  readonly failed: (path: string, event: string, error: string) => void;
}

/** The hooks of all extensions, in the order in which they were added. */
export class Hooks {
  readonly #options: HooksOptions;
  readonly #hooks: { readonly [E in Name]?: Hook<E>[] } = {};

  constructor(options: HooksOptions) {
    this.#options = options;
  }

  /** Refuses events that never happen by their name. */
  add<E extends Name>(path: string, event: E, call: ExtensionHook<E>): void {
    if (!EVENTS.has(event))
      throw new PolypodError(
        'bad-request',
        `on("${event}") does not work in Polypod: extensions can listen to ${[...EVENTS].join(', ')}`,
      );
    if (typeof call !== 'function')
      throw new PolypodError('bad-request', `on("${event}") needs a function as its second argument`);
    this.#of(event).push({ path, call });
  }

  has(event: Name): boolean {
    return this.#of(event).length > 0;
  }

  /** Calls the hooks one after the other until `isEnough` of an answer; a hook that throws gives `broken`, or no answer. */
  async ask<E extends Name>(
    event: E,
    about: ExtensionEvents[E][0],
    isEnough: (answer: ExtensionEvents[E][1]) => boolean,
    broken?: (error: string) => ExtensionEvents[E][1],
  ): Promise<ExtensionEvents[E][1] | undefined> {
    for (const { path, call } of this.#of(event)) {
      const answer = await this.#call(event, { path, call }, about, broken);
      if (answer !== undefined && isEnough(answer)) return answer;
    }
    return undefined;
  }

  /** Calls all hooks, without waiting for what they do. */
  tell<E extends Name>(event: E, about: ExtensionEvents[E][0]): void {
    for (const hook of this.#of(event)) void this.#call(event, hook, about);
  }

  /** Calls all hooks, and waits until they are done. */
  async finish<E extends Name>(event: E, about: ExtensionEvents[E][0]): Promise<void> {
    await Promise.all(this.#of(event).map((hook) => this.#call(event, hook, about)));
  }

  async #call<E extends Name>(
    event: E,
    { path, call }: Hook<E>,
    about: ExtensionEvents[E][0],
    broken?: (error: string) => ExtensionEvents[E][1],
  ): Promise<ExtensionEvents[E][1] | undefined> {
    try {
      // `null` is what some hooks answer in place of nothing.
      return (await call({ type: event, ...about }, this.#options.context)) ?? undefined;
    } catch (thrown) {
      const error = messageOf(thrown);
      this.#options.failed(path, event, error);
      return broken?.(error);
    }
  }

  #of<E extends Name>(event: E): Hook<E>[] {
    const hooks: { [N in Name]?: Hook<N>[] } = this.#hooks;
    return (hooks[event] ??= []);
  }
}

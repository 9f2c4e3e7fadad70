import type { JsonObject } from '../../../base/index.ts';
import type { ToolCallFields } from '../wire.ts';

/** Clears a terminal with its earlier lines. */
const CLEAR = '\u001b[H\u001b[2J\u001b[3J';

export interface CommandExit {
  readonly exitCode: number | null;
  readonly signal: string | null;
}

/**
 * Shows the output of commands in terminals of the editor that only display it. The protocol has no messages for that: editors
 * that declare `_meta.terminal_output` read them from `_meta` of the call.
 */
export class ShownTerminals {
  readonly #cwd: string;
  /** The calls whose terminal the editor knows, and the text in it; undefined for a terminal that is not shown yet. */
  readonly #texts = new Map<string, string | undefined>();

  constructor(cwd: string) {
    this.#cwd = cwd;
  }

  /** Creates the terminal. Must be part of the `tool_call` that announces the call. */
  create(callId: string): Pick<ToolCallFields, '_meta'> {
    this.#texts.set(callId, undefined);
    return { _meta: { terminal_info: { terminal_id: callId, cwd: this.#cwd } } };
  }

  /** Shows the terminal in its call; undefined if the call has none. */
  show(callId: string): Pick<ToolCallFields, 'content'> | undefined {
    if (!this.#texts.has(callId)) return undefined;
    this.#texts.set(callId, '');
    return { content: [{ type: 'terminal', terminalId: callId }] };
  }

  isShown(callId: string): boolean {
    return this.#texts.get(callId) !== undefined;
  }

  /** The latest output, in place of the previous one; undefined if nothing is new. */
  update(callId: string, text: string): JsonObject | undefined {
    const before = this.#texts.get(callId) ?? '';
    if (text === before) return undefined;
    this.#texts.set(callId, text);
    return output(callId, text.startsWith(before) ? text.slice(before.length) : CLEAR + text);
  }

  /** How the command ended, with the whole text of its result, if there is one. */
  end(callId: string, { exitCode, signal }: CommandExit, text?: string): JsonObject {
    const before = this.#texts.get(callId) ?? '';
    this.#texts.delete(callId);
    return {
      ...(text !== undefined && output(callId, rest(before, text))),
      terminal_exit: { terminal_id: callId, exit_code: exitCode, signal },
    };
  }

  /** Removes a call whose terminal was never shown. */
  forget(callId: string): void {
    this.#texts.delete(callId);
  }
}

function output(callId: string, data: string): JsonObject {
  return data === '' ? {} : { terminal_output: { terminal_id: callId, data } };
}

/** What is missing in the terminal. Results have no line break at their end, and notes after the output. */
function rest(before: string, text: string): string {
  const printed = before.trimEnd();
  if (!text.startsWith(printed)) return CLEAR + text;
  const [shown, missing] = [before.slice(printed.length), text.slice(printed.length)];
  if (shown.startsWith(missing)) return '';
  return missing.startsWith(shown) ? missing.slice(shown.length) : missing;
}

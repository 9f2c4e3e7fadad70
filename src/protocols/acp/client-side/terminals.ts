import { objectOf, settlesWithin, stringOf } from '../../../base/index.ts';
import type { TerminalCommand, TerminalEnd } from '../../../pod/index.ts';
import type { Peer } from '../peer.ts';
import type { SessionUpdate } from '../wire.ts';
import { type EditorAnswer, requestWithin } from './request-within.ts';

/** How long the editor may take for each step, except for the command itself. */
const STEP_MS = 10_000;
/** How long a terminal is kept for the update that shows it. */
const SHOWN_WITHIN_MS = 5_000;
const NEVER = new AbortController().signal;

interface ShownTerminal {
  readonly terminalId: string;
  /** The editor no longer accepts the id. */
  isReleased: boolean;
  isShown: boolean;
  readonly onShown: () => void;
}

/** Runs commands in terminals of the editor, and shows these terminals in their tool calls. */
export class Terminals {
  readonly #peer: Peer;
  readonly #sessionId: string;
  readonly #byCall = new Map<string, ShownTerminal>();

  constructor(peer: Peer, sessionId: string) {
    this.#peer = peer;
    this.#sessionId = sessionId;
  }

  async run(command: TerminalCommand, signal: AbortSignal): Promise<TerminalEnd> {
    const { program, args, cwd, maxOutputBytes: outputByteLimit } = command;
    const params = { command: program, args, cwd, outputByteLimit };
    const created = await this.#request('create', params, STEP_MS, signal);
    if (created === 'cancelled')
      return { type: 'lost', reason: 'cancelled while the editor opened a terminal' };
    if (created.type === 'error') return { type: 'refused' };
    if (created.type !== 'result') return { type: 'lost', reason: reasonFor(created, 'open a terminal') };
    const terminalId = stringOf(objectOf(created.result).terminalId);
    if (terminalId === '') return { type: 'refused' };
    return this.#finish(terminalId, command, signal);
  }

  /** Replaces the content of a call by its terminal. Editors keep showing a terminal after its release. */
  show(update: SessionUpdate): SessionUpdate {
    if (update.sessionUpdate !== 'tool_call_update' || update.content === undefined) return update;
    const shown = this.#byCall.get(update.toolCallId);
    if (shown === undefined || (shown.isReleased && !shown.isShown)) return update;
    const { content: _, ...rest } = update;
    if (shown.isReleased) return rest;
    shown.isShown = true;
    shown.onShown();
    return { ...rest, content: [{ type: 'terminal', terminalId: shown.terminalId }] };
  }

  /** The run has ended, and with it all its calls. */
  forget(): void {
    this.#byCall.clear();
  }

  async #finish(
    terminalId: string,
    { callId, timeoutMs, onStart }: TerminalCommand,
    signal: AbortSignal,
  ): Promise<TerminalEnd> {
    let onShown = (): void => {};
    const isShown = new Promise<void>((resolve) => {
      onShown = resolve;
    });
    const shown: ShownTerminal = { terminalId, isReleased: false, isShown: false, onShown };
    this.#byCall.set(callId, shown);
    onStart();
    const exited = await this.#request('wait_for_exit', { terminalId }, timeoutMs, signal);
    const by = exited === 'cancelled' ? 'cancel' : exited.type === 'unanswered' ? 'timeout' : 'itself';
    if (by !== 'itself') await this.#request('kill', { terminalId }, STEP_MS, NEVER);
    const printed = await this.#request('output', { terminalId }, STEP_MS, NEVER);
    await settlesWithin(isShown, SHOWN_WITHIN_MS);
    shown.isReleased = true;
    await this.#request('release', { terminalId }, STEP_MS, NEVER);
    if (exited !== 'cancelled' && exited.type !== 'result' && exited.type !== 'unanswered')
      return { type: 'lost', reason: reasonFor(exited, 'wait for the command') };
    if (printed === 'cancelled' || printed.type !== 'result')
      return { type: 'lost', reason: 'the editor did not return the output' };
    const { output, truncated, exitStatus } = objectOf(printed.result);
    const { exitCode, signal: endedBy } = objectOf(
      exited !== 'cancelled' && exited.type === 'result' ? exited.result : exitStatus,
    );
    return {
      type: 'ended',
      by,
      exitCode: typeof exitCode === 'number' ? exitCode : null,
      signal: stringOf(endedBy) || null,
      output: stringOf(output),
      isTruncated: truncated === true,
    };
  }

  async #request(
    step: 'create' | 'wait_for_exit' | 'kill' | 'output' | 'release',
    params: object,
    limitMs: number,
    signal: AbortSignal,
  ): Promise<EditorAnswer | 'cancelled'> {
    const all = { sessionId: this.#sessionId, ...params };
    try {
      return await requestWithin(limitMs, this.#peer, `terminal/${step}`, all, signal);
    } catch {
      return 'cancelled';
    }
  }
}

function reasonFor(answer: Exclude<EditorAnswer, { type: 'result' }>, work: string): string {
  switch (answer.type) {
    case 'error':
      return `the editor could not ${work}: ${answer.error.message}`;
    case 'disconnected':
      return 'the editor disconnected, so the command may still run';
    case 'unanswered':
      return `the editor did not ${work} within ${STEP_MS / 1000} s`;
  }
}

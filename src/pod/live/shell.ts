import { PolypodError } from '../../base/index.ts';
import { errorOutput, type ToolOutput } from '../../tools/index.ts';
import type { Agent } from '../agent.ts';
import type { Origin } from '../event.ts';
import type { UnnumberedEvent } from '../journal/index.ts';
import type { RecordedReceipt } from '../receipts.ts';
import { type AgentMessage, shellMessage } from '../session/index.ts';

export interface ShellParts {
  readonly agent: Agent;
  readonly cwd: string;
  readonly publish: (draft: UnnumberedEvent) => void;
  readonly written: () => Promise<void>;
  readonly now: () => Date;
  /** Output is ready for the conversation, if no run is active. */
  readonly onEnd: () => void;
}

/** Finished commands whose output is not in the conversation yet: a turn must not be split. */
export interface Ended {
  readonly shellId: string;
  readonly message: AgentMessage;
}

/** Shell commands that a person runs next to the agent. They need no approval. */
export class Shell {
  readonly #parts: ShellParts;
  readonly #running = new Map<string, AbortController>();
  readonly #ended: Ended[];
  #all: Promise<unknown> = Promise.resolve();

  constructor(parts: ShellParts, ended: readonly Ended[]) {
    this.#parts = parts;
    this.#ended = [...ended];
  }

  get active(): boolean {
    return this.#running.size > 0;
  }

  start(
    shellId: string,
    command: string,
    isPrivate: boolean,
    { by, door }: Origin,
    recorded: RecordedReceipt | undefined,
  ): void {
    const stop = new AbortController();
    this.#running.set(shellId, stop);
    const { publish } = this.#parts;
    publish({ fact: { type: 'shell-start', shellId, command, private: isPrivate, by, door }, recorded });
    const done = this.#run(shellId, command, isPrivate, stop.signal);
    this.#all = Promise.all([this.#all, done]);
  }

  abort(shellId: string | undefined): void {
    const ids = shellId === undefined ? [...this.#running.keys()] : [shellId];
    for (const id of ids) {
      const stop = this.#running.get(id);
      if (stop === undefined) throw new PolypodError('not-found', `no shell command ${id} is running`);
      stop.abort();
    }
  }

  /** Output that is not in the conversation yet. */
  get waiting(): readonly Ended[] {
    return this.#ended;
  }

  /** Adds output that is not in the conversation yet. */
  keep(ended: readonly Ended[]): void {
    this.#ended.push(...ended);
  }

  /** Removes and returns all pending output. */
  take(): readonly Ended[] {
    return this.#ended.splice(0);
  }

  async close(): Promise<void> {
    for (const stop of this.#running.values()) stop.abort();
    await this.#all;
  }

  async #run(shellId: string, command: string, isPrivate: boolean, signal: AbortSignal): Promise<void> {
    const { publish, written, now, onEnd } = this.#parts;
    // Wait until the start is on disk: otherwise a repeated command would run again.
    const output = await written()
      .then(() => this.#output(shellId, command, signal))
      .catch((thrown: unknown) => errorOutput(String(thrown)));
    this.#running.delete(shellId);
    const message = shellMessage(command, output, { cancelled: signal.aborted, isPrivate, at: now() });
    this.#ended.push({ shellId, message });
    publish({
      fact: {
        type: 'shell-end',
        shellId,
        command,
        status: signal.aborted ? 'cancelled' : 'done',
        output,
        private: isPrivate,
      },
      message,
    });
    onEnd();
  }

  async #output(shellId: string, command: string, signal: AbortSignal): Promise<ToolOutput> {
    const { agent, cwd, publish } = this.#parts;
    const bash = (await agent.tools()).find(({ name }) => name === 'bash');
    const prepared = bash?.prepare({ command, timeout: LONGEST_SECONDS }, cwd);
    if (prepared === undefined) return errorOutput('This agent has no tool that runs commands.');
    if ('invalid' in prepared) return errorOutput(prepared.invalid);
    return prepared.run(
      {
        ...agent.toolContext(shellId),
        // A person's own commands may see and signal the person's processes, and use sudo.
        isolation: undefined,
        limiter: undefined,
        callId: shellId,
        approved: true,
        cwd,
        resolve: async (path) => path,
        update: (text) => publish({ fact: { type: 'shell-update', shellId, text } }),
      },
      signal,
    );
  }
}

const LONGEST_SECONDS = 3_600;

import type { PolypodError } from '../../base/index.ts';
import type { BackgroundCommands } from '../../tools/index.ts';
import type { Agent } from '../agent.ts';
import type { Journal, OpenSession, UnnumberedEvent } from '../journal/index.ts';
import type { Approvals } from './approvals.ts';
import type { Runner } from './run/runner.ts';
import type { Shell } from './shell.ts';
import type { TitleRequest } from './title-request.ts';
import type { PodView } from '../view/view.ts';

export interface PodEndParts {
  readonly view: PodView;
  readonly agent: Agent;
  readonly runner: Runner;
  readonly shell: Shell;
  readonly background: BackgroundCommands;
  readonly approvals: Approvals;
  readonly titleRequest: TitleRequest;
  readonly journal: Journal;
  readonly session: OpenSession;
  readonly publish: (draft: UnnumberedEvent) => void;
  /** The pod was unloaded; with the error if its log could not be written. */
  readonly gone: (failure: PolypodError | undefined) => Promise<void>;
}

/** Unloads a pod once: stops its run, writes pending events, and releases the session. */
export class PodEnd {
  readonly #parts: PodEndParts;
  #closing: Promise<void> | undefined;

  constructor(parts: PodEndParts) {
    this.#parts = parts;
  }

  /** Resolves when the pod is closed; undefined while it is open. */
  get closing(): Promise<void> | undefined {
    return this.#closing;
  }

  /** Ends the run and releases the files. Publishes `last` before that. */
  async close(last?: UnnumberedEvent): Promise<void> {
    this.#closing ??= this.#close('everything', last);
    await this.#closing;
  }

  /** As `close`, but a run that waits for a person stays unfinished: another process resumes it after the decision. */
  async leave(): Promise<void> {
    this.#closing ??= this.#close(this.#parts.view.state === 'waiting' ? 'all but the run' : 'everything');
    await this.#closing;
  }

  /** The log cannot be written: the run ends, nothing more is published, and the next use opens the pod again. */
  fail(error: PolypodError): void {
    this.#closing = this.#abandon(error);
    this.#closing.catch(() => {});
  }

  async #close(ends: 'everything' | 'all but the run', last?: UnnumberedEvent): Promise<void> {
    const { view, agent, runner, shell, background, approvals, journal, session, publish, gone } =
      this.#parts;
    this.#parts.titleRequest.close();
    if (ends === 'everything') await this.#stop();
    // The approval of a child belongs to no call of this pod, whose own calls wait for the child.
    else
      await Promise.all([
        view.approvals.hasOwnCall() && runner.halt(),
        shell.close(),
        background.close(CLOSED),
      ]);
    if (last !== undefined) publish(last);
    approvals.close();
    try {
      await journal.close();
    } finally {
      await session.release();
      await agent.close();
      await gone(undefined);
    }
  }

  async #stop(): Promise<void> {
    const { runner, shell, background } = this.#parts;
    runner.cancel();
    await Promise.all([runner.quiet(), shell.close()]);
    await background.close(CLOSED);
  }

  async #abandon(error: PolypodError): Promise<void> {
    const { agent, approvals, session, gone } = this.#parts;
    this.#parts.titleRequest.close();
    try {
      await this.#stop();
      await Promise.allSettled([session.release(), agent.close()]);
    } finally {
      approvals.close();
      await gone(error);
    }
  }
}

/** Why background commands end, for the model. */
const CLOSED = 'because the session was closed';

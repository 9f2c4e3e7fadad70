import { messageOf, withoutUndefined } from '../../base/index.ts';
import type { Caller } from '../command.ts';
import type { RunPurpose } from '../event.ts';
import type { RefuseStart } from './pod-options.ts';
import type { UnnumberedEvent } from '../journal/index.ts';
import { openCallsIn } from '../view/open-calls.ts';
import type { RunSetup } from './run/run-setup.ts';
import type { Runner } from './run/runner.ts';
import { shellItem } from '../session/index.ts';
import type { Shell } from './shell.ts';
import { stateOf } from '../view/state.ts';
import type { PodView } from '../view/view.ts';

export interface PendingWorkParts {
  readonly view: PodView;
  readonly setup: RunSetup;
  readonly runner: Runner;
  readonly shell: Shell;
  readonly publish: (draft: UnnumberedEvent) => void;
  /** Takes one of the host's run slots; returns false if none is free, or if the pod is closing. */
  readonly takeSlot: () => boolean;
  /** Why a run must not start; undefined if it may. */
  readonly refuseStart: RefuseStart;
}

/** Starts pending work of a pod when nothing blocks it any more, such as after a run has ended. */
export class PendingWork {
  readonly #parts: PendingWorkParts;

  constructor(parts: PendingWorkParts) {
    this.#parts = parts;
  }

  take(): void {
    this.#noteShells();
    this.startPrompt();
  }

  /** Starts the next queued prompt, if there is a free slot. */
  startPrompt(): void {
    const { view, setup, runner, takeSlot, refuseStart } = this.#parts;
    const next = view.nextQueued('prompt');
    if (next === undefined || !this.#isIdle()) return;
    const { content, queueId, overrides } = next;
    setup.prepare(overrides).then(
      (ready) => {
        if (view.nextQueued('prompt')?.queueId !== queueId || !this.#isIdle()) return;
        const refused = refuseStart(overrides);
        if (refused !== undefined) {
          this.#refuse(queueId, refused);
          return;
        }
        if (!takeSlot()) return;
        runner.start(ready, { content, queueId, purpose: purposeOf(next), recordReceipt: () => undefined });
      },
      // Remove a prompt that cannot run, and report it: otherwise it would block the queue forever.
      (thrown: unknown) => this.#refuse(queueId, messageOf(thrown)),
    );
  }

  /** After a restart, or a pause at a deadline, the run resumes with the first decision; other approvals stay pending. */
  async resumeDecided({ by, door }: Caller): Promise<void> {
    const { view, setup, runner, takeSlot } = this.#parts;
    if (!this.#isDecided()) return;
    const purpose = purposeOf({ ...view.lastRun, by, door });
    const ready = await setup.prepare(purpose.overrides).catch(() => undefined);
    if (ready === undefined || !this.#isDecided() || !takeSlot()) return;
    runner.resume(ready, purpose, () => undefined);
  }

  /** Adds shell output to the conversation when that does not split a turn. */
  #noteShells(): void {
    const { view, runner, shell } = this.#parts;
    if (runner.active || view.state === 'waiting' || view.state === 'paused') return;
    for (const { shellId, message } of shell.take()) {
      const item = shellItem(message);
      if (item !== undefined) runner.note(item, { message, shellId });
    }
  }

  #refuse(queueId: string, reason: string): void {
    this.#parts.publish({ fact: { type: 'unqueued', queueIds: [queueId], reason } });
    this.startPrompt();
  }

  #isIdle(): boolean {
    return stateOf(this.#parts.view, this.#parts.runner.active) === 'idle';
  }

  #isDecided(): boolean {
    const { view, runner } = this.#parts;
    if (runner.active || (view.state !== 'paused' && view.state !== 'waiting')) return false;
    return openCallsIn(view.items).some(({ callId }) => {
      const { approval, settlement } = view.approvals.about(callId) ?? {};
      return settlement?.status === 'expired' ? approval?.fallback === 'deny' : settlement?.by !== undefined;
    });
  }
}

/** The fields of a queued message, or of an earlier run, that the next run inherits. */
function purposeOf({ by, door, taskId, overrides }: RunPurpose): RunPurpose {
  return {
    ...withoutUndefined({ by, door, taskId, overrides }),
  };
}

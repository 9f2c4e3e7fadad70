import { messageOf } from '../../base/index.ts';
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
  /** Takes one of the host's places for a run; false also when the pod is closing. */
  readonly takeSlot: () => boolean;
  /** Why a run must not start; undefined if it may. */
  readonly refuseStart: RefuseStart;
}

/** What a pod does without being told, once nothing is in the way: a run that ended, or was given up, may have been. */
export class PendingWork {
  readonly #parts: PendingWorkParts;

  constructor(parts: PendingWorkParts) {
    this.#parts = parts;
  }

  take(): void {
    this.#noteShells();
    this.startPrompt();
  }

  /** The next prompt that waits, if there is one and a place for it. */
  startPrompt(): void {
    const { view, setup, runner, takeSlot, refuseStart } = this.#parts;
    const [next] = view.waiting('prompt');
    if (next === undefined || !this.#isIdle()) return;
    const { content, queueId, overrides } = next;
    setup.prepare(overrides).then(
      (ready) => {
        const [still] = view.waiting('prompt');
        if (still?.queueId !== queueId || !this.#isIdle()) return;
        const refused = refuseStart(overrides);
        if (refused !== undefined) {
          this.#refuse(queueId, refused);
          return;
        }
        if (!takeSlot()) return;
        runner.start(ready, { content, queueId, purpose: purposeOf(next), sign: () => undefined });
      },
      // It cannot be run as things are: taken out, and said so, or it would block what follows it for ever.
      (thrown: unknown) => this.#refuse(queueId, messageOf(thrown)),
    );
  }

  /** After a restart, or a pause by a deadline, the run goes on with the first answer; the other questions stay open. */
  async resumeDecided({ by, door }: Caller): Promise<void> {
    const { view, setup, runner, takeSlot } = this.#parts;
    if (!this.#isDecided()) return;
    const purpose = purposeOf({ ...view.lastRun, by, door });
    const ready = await setup.prepare(purpose.overrides).catch(() => undefined);
    if (ready === undefined || !this.#isDecided() || !takeSlot()) return;
    runner.resume(ready, purpose, () => undefined);
  }

  /** What a person ran goes into the conversation when no turn would be parted by it. */
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

/** What of a message, or of a run before, is the purpose of the next one. */
function purposeOf({ by, door, taskId, overrides }: RunPurpose): RunPurpose {
  return {
    ...(by === undefined ? {} : { by }),
    ...(door === undefined ? {} : { door }),
    ...(taskId === undefined ? {} : { taskId }),
    ...(overrides === undefined ? {} : { overrides }),
  };
}

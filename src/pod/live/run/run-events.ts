import { withoutUndefined } from '../../../base/index.ts';
import type { RunEvent, Totals } from '../../../worker/index.ts';
import { BACKGROUND_NOTICE, type PodFactOf, type RunPurpose } from '../../event.ts';
import type { UnnumberedEvent } from '../../journal/index.ts';
import type { AgentMessage } from '../../session/index.ts';
import type { RecordedReceipt } from '../../receipts.ts';
import type { PodView } from '../../view/view.ts';

/** A run: its id, who requested it and why. */
export interface CurrentRun {
  readonly runId: string;
  readonly purpose: RunPurpose;
  readonly queueId?: string | undefined;
  /** The kind of program that wrote the prompt, if no person did. */
  readonly customType?: string | undefined;
  /** The event that carries the receipt of the command that started the run. */
  readonly receiptOn: 'run-start' | 'input';
  readonly receipt: (runId: string) => RecordedReceipt | undefined;
}

/** The output of a person's shell command, as recorded in the session file. */
export interface ShellNote {
  readonly message: AgentMessage;
  readonly shellId: string;
}

export interface RunEventsParts {
  readonly view: PodView;
  readonly publish: (draft: UnnumberedEvent) => void;
  readonly totals: () => Totals;
}

/** Publishes the worker's events as the pod's. Adds who requested the run, who wrote an input, and the receipt of a command. */
export class RunEvents {
  readonly #parts: RunEventsParts;
  #run: CurrentRun | undefined;
  /** Each receipt is recorded with one event. */
  #hasReceipt = false;
  #note: ShellNote | undefined;

  constructor(parts: RunEventsParts) {
    this.#parts = parts;
  }

  get runId(): string {
    return this.#run?.runId ?? '';
  }

  begin(run: CurrentRun): void {
    this.#run = run;
    this.#hasReceipt = true;
  }

  /** Publishes the inputs that `add` emits as the output of a shell command. */
  withShellNote(note: ShellNote, add: () => void): void {
    this.#note = note;
    add();
    this.#note = undefined;
  }

  publish(event: RunEvent): void {
    this.#parts.publish(this.#draft(event));
  }

  #draft(event: RunEvent): UnnumberedEvent {
    switch (event.type) {
      case 'run-start':
        return { fact: { ...event, ...this.#run?.purpose }, recorded: this.#receipt('run-start') };
      case 'input':
        return {
          fact: { ...event, ...this.#author(event.origin) },
          recorded: event.origin === 'prompt' ? this.#receipt('input') : undefined,
          message: this.#note?.message,
          shellId: this.#note?.shellId,
        };
      case 'run-end':
        return { fact: { ...event, conversation: this.#parts.totals() } };
      default:
        return { fact: event };
    }
  }

  #receipt(on: CurrentRun['receiptOn']): RecordedReceipt | undefined {
    const run = this.#run;
    if (!this.#hasReceipt || run?.receiptOn !== on) return undefined;
    this.#hasReceipt = false;
    return run.receipt(run.runId);
  }

  /** Returns who wrote an input. The queue records it for queued messages, and delivers them in order. */
  #author(origin: PodFactOf<'input'>['origin']): Partial<PodFactOf<'input'>> {
    if (origin === 'prompt') {
      const { purpose: { by, door } = {}, queueId, customType } = this.#run ?? {};
      return {
        ...withoutUndefined({ by, door, queueId, customType }),
      };
    }
    if (origin === 'continuation') return { customType: origin };
    if (origin === 'notice') return { customType: BACKGROUND_NOTICE };
    if (origin !== 'steer' && origin !== 'follow-up') return {};
    const queued = this.#parts.view.nextQueued(origin);
    if (queued === undefined) return {};
    const { by, door, queueId } = queued;
    return { queueId, ...withoutUndefined({ by, door }) };
  }
}

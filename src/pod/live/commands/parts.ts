import type { BackgroundCommands } from '../../../tools/index.ts';
import type { Agent } from '../../agent.ts';
import type { Approvals } from '../approvals.ts';
import type { ClientTools } from '../client-tools.ts';
import type { Caller, PodCommand, Receipt, ValidCommandOf } from '../../command.ts';
import type { Branch } from '../../event.ts';
import type { RefuseStart } from '../pod-options.ts';
import type { UnnumberedEvent } from '../../journal/index.ts';
import type { RecordedReceipt } from '../../receipts.ts';
import type { Rewinds } from '../rewinds.ts';
import type { RunSetup } from '../run/run-setup.ts';
import type { Runner } from '../run/runner.ts';
import type { Shell } from '../shell.ts';
import type { PodView } from '../../view/view.ts';

/** The parts of a pod that the commands use. */
export interface PodParts {
  readonly view: PodView;
  readonly agent: Agent;
  readonly setup: RunSetup;
  readonly runner: Runner;
  readonly rewinds: Rewinds;
  readonly approvals: Approvals;
  readonly clientTools: ClientTools;
  readonly shell: Shell;
  readonly background: BackgroundCommands;
  /** Publishes an event. Returns the id of the entry that records it. */
  readonly publish: (draft: UnnumberedEvent) => string | undefined;
  readonly queueLimit: number;
  readonly now: () => Date;
  readonly newId: () => string;
  /** Why a run must not start; undefined if it may. */
  readonly refuseStart: RefuseStart;
  /** Takes one of the host's run slots; returns false if none is free. */
  readonly takeSlot: () => boolean;
  /** The error message if no slot is free. */
  readonly whyNoSlot: () => string;
  /** Loads an entry that may not have been read yet. */
  readonly reach: (entryId: string | null) => Promise<void>;
  /** Moves the leaf to an entry and returns the conversation there. */
  readonly branchTo: (entryId: string | null) => Branch;
  /** The to-do list at the leaf; undefined if the part of the path that has it is not loaded. */
  readonly todosAtLeaf: () => PodView['todos'] | undefined;
  /** Forwards a decision to the child pod whose approval it is. */
  readonly decideForChild: (
    podId: string,
    command: ValidCommandOf<'decide'>,
    caller: Caller,
  ) => Promise<void>;
  readonly close: (caller: Caller, recorded: RecordedReceipt | undefined) => Promise<void>;
}

/** The result of a command, before it has its number. */
export type Reply = Omit<Receipt, 'accepted' | 'seq'>;

/** Records the receipt of an accepted command, if it has an idempotency key. */
export type RecordReceipt = (reply: Reply) => RecordedReceipt | undefined;

export type Handler<T extends PodCommand['type']> = (
  command: ValidCommandOf<T>,
  caller: Caller,
  recordReceipt: RecordReceipt,
  pod: PodParts,
) => Promise<Reply>;

/** Publishes who sent a command that has no event of its own, and records its receipt. */
export function accept(
  { type }: PodCommand,
  { by, door }: Caller,
  recordReceipt: RecordReceipt,
  { publish }: PodParts,
): void {
  publish({ fact: { type: 'commanded', command: type, by, door }, recorded: recordReceipt({}) });
}

import type { Agent } from '../../agent.ts';
import type { Approvals } from '../approvals.ts';
import type { ClientTools } from '../client-tools.ts';
import type { Caller, PodCommand, Receipt, ValidCommandOf } from '../../command.ts';
import type { Branch } from '../../event.ts';
import type { RefuseStart } from '../pod-options.ts';
import type { UnnumberedEvent } from '../../journal/index.ts';
import type { RecordedReceipt } from '../../receipts.ts';
import type { RunSetup } from '../run/run-setup.ts';
import type { Runner } from '../run/runner.ts';
import type { Shell } from '../shell.ts';
import type { PodView } from '../../view/view.ts';

/** What the commands work with: the pod's parts, each with one concern. */
export interface PodParts {
  readonly view: PodView;
  readonly agent: Agent;
  readonly setup: RunSetup;
  readonly runner: Runner;
  readonly approvals: Approvals;
  readonly clientTools: ClientTools;
  readonly shell: Shell;
  /** Numbers an event and has it written; answers with the id of the entry that keeps it. */
  readonly publish: (draft: UnnumberedEvent) => string | undefined;
  readonly queueLimit: number;
  readonly now: () => Date;
  readonly newId: () => string;
  /** Why a run must not start; undefined if it may. */
  readonly refuseStart: RefuseStart;
  /** Takes one of the host's places for a run; undefined when all are taken. */
  readonly takeSlot: () => boolean;
  /** What to tell who got none. */
  readonly whyNoSlot: () => string;
  /** Has an entry read that may stand further back than what was needed so far. */
  readonly reach: (entryId: string | null) => Promise<void>;
  /** The conversation at an entry; the tree's leaf is there afterwards. */
  readonly branchTo: (entryId: string | null) => Branch;
  /** Hands a decision to the child whose approval it is. */
  readonly decideForChild: (
    podId: string,
    command: ValidCommandOf<'decide'>,
    caller: Caller,
  ) => Promise<void>;
  readonly close: (caller: Caller, signed: RecordedReceipt | undefined) => Promise<void>;
}

/** What a command has brought, before it has its number. */
export type Reply = Omit<Receipt, 'accepted' | 'seq'>;

/** Signs what was accepted, for a command that came under a key. */
export type RecordReceipt = (reply: Reply) => RecordedReceipt | undefined;

export type Handler<T extends PodCommand['type']> = (
  command: ValidCommandOf<T>,
  caller: Caller,
  sign: RecordReceipt,
  pod: PodParts,
) => Promise<Reply>;

/** For a command that leaves no event of its own: who gave it is told, and its receipt is kept. */
export function accept(
  { type }: PodCommand,
  { by, door }: Caller,
  sign: RecordReceipt,
  { publish }: PodParts,
): void {
  publish({ fact: { type: 'commanded', command: type, by, door }, signed: sign({}) });
}

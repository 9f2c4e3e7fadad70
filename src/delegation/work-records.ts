import type { FileChange, Row } from '../pod/index.ts';
import type { Role } from './roles.ts';

/** Names a piece of delegated work and reads its outcome. The owner of the tasks implements it. */
export interface WorkRecords {
  /** Returns a new id for the work of a role in a child pod. */
  readonly newId: (podId: string, role: Role) => string;
  /** Whether a coordinator of this session has unfinished work. */
  readonly isCoordinating: (row: Row) => boolean;
  /** Returns the outcome of a piece of work, or undefined if the session has no record of it. */
  readonly outcome: (podId: string, workId: string) => Promise<WorkOutcome | undefined>;
}

export interface WorkOutcome {
  /** How the run ended: `finished`, `failed`, `cancelled` … */
  readonly status: string;
  /** Why it did not finish. */
  readonly reason: string | undefined;
  /** In USD; undefined if the price is unknown. */
  readonly cost: number | undefined;
  /** The last message of the model. */
  readonly text: string;
  readonly changes: readonly FileChange[];
}

/** Formats the outcome for the coordinator and the reviewer. */
export function outcomeText({ text, changes }: Pick<WorkOutcome, 'text' | 'changes'>): string {
  const diffs = changes.map(({ path, diff }) => `--- ${path}\n${diff}`).join('\n');
  const all = changes.length === 0 ? text : `${text}\n\nChanges:\n${diffs}`;
  return all.length <= MAX_TEXT ? all : `${all.slice(0, MAX_TEXT)}\n[… cut …]`;
}

const MAX_TEXT = 50_000;

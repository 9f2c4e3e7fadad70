import type { FileChange, Row } from '../pod/index.ts';
import type { Role } from './roles.ts';

/** How delegations name a piece of work and read its outcome. Whoever keeps the tasks implements it. */
export interface WorkRecords {
  /** Returns a new id for the work of a role in a child pod. */
  readonly newId: (podId: string, role: Role) => string;
  /** Whether a coordinator of this session has work that is not over. */
  readonly isCoordinating: (row: Row) => boolean;
  /** Returns what became of a piece of work, or undefined when the session has no record of it. */
  readonly outcome: (podId: string, workId: string) => Promise<WorkOutcome | undefined>;
}

export interface WorkOutcome {
  /** How its run ended: `finished`, `failed`, `cancelled` … */
  readonly status: string;
  /** Why it did not finish. */
  readonly reason: string | undefined;
  /** In USD; undefined where the price is not known. */
  readonly cost: number | undefined;
  /** The last message of the model. */
  readonly text: string;
  readonly changes: readonly FileChange[];
}

/** The outcome as the coordinator reads it, and the reviewer. */
export function outcomeText({ text, changes }: Pick<WorkOutcome, 'text' | 'changes'>): string {
  const diffs = changes.map(({ path, diff }) => `--- ${path}\n${diff}`).join('\n');
  const all = changes.length === 0 ? text : `${text}\n\nChanges:\n${diffs}`;
  return all.length <= MAX_TEXT ? all : `${all.slice(0, MAX_TEXT)}\n[… cut …]`;
}

const MAX_TEXT = 50_000;

import type { Approval } from '../../pod/index.ts';
import {
  type ApprovalAnswer,
  type ApprovalState,
  approvalWidth,
  type Key,
  type Live,
  newApproval,
  renderApproval,
  updateApproval,
} from '../terminal/index.ts';
import { questionAbout } from './question.ts';

/** The question that a person is asked now, of all that stand. */
export class QuestionBox {
  #shown: { readonly approvalId: string; readonly state: ApprovalState } | undefined;
  /** Those that the person does not want to answer now, or has just answered. */
  readonly #putOff = new Set<string>();

  get isOpen(): boolean {
    return this.#shown !== undefined;
  }

  /** Whether a letter would be an answer, not a part of a text. */
  get isChoosing(): boolean {
    return this.#shown?.state.mode === 'choosing';
  }

  /** Shows the next question, unless the one that is shown still stands. */
  pose(open: readonly Approval[], now: number): void {
    if (open.some(({ approvalId }) => approvalId === this.#shown?.approvalId)) return;
    const next = open.find(({ approvalId }) => !this.#putOff.has(approvalId));
    this.#shown = next && { approvalId: next.approvalId, state: newApproval(questionAbout(next), now) };
  }

  /** Takes a key; what it answers, if it does, is put away. */
  press(
    key: Key,
    columns: number,
    now: number,
  ): { readonly approvalId: string; readonly answer: ApprovalAnswer } | undefined {
    if (this.#shown === undefined) return undefined;
    const { approvalId, state: before } = this.#shown;
    const { state, answer } = updateApproval(before, key, { width: approvalWidth(before, columns), now });
    this.#shown = answer === undefined ? { approvalId, state } : undefined;
    if (answer === undefined) return undefined;
    this.#putOff.add(approvalId);
    return { approvalId, answer };
  }

  /** The question stands again: the answer was refused. */
  reopen(approvalId: string): void {
    this.#putOff.delete(approvalId);
  }

  reopenAll(): void {
    this.#putOff.clear();
  }

  draw(width: number, rows: number): Live | undefined {
    return this.#shown && renderApproval(this.#shown.state, { width, rows });
  }
}

import type { Approval } from '../../../pod/index.ts';
import { QuestionNumbers } from '../../output/question-numbers.ts';
import type { Key, LiveArea } from '../../../terminal/index.ts';
import { approvalWidth, renderApproval } from './approval-lines.ts';
import {
  type ApprovalAnswer,
  type ApprovalState,
  newApproval,
  SETTLE_MS,
  updateApproval,
} from './approval-dialog.ts';
import type { Print } from '../view/print.ts';
import { questionAbout } from './question.ts';

/** The effect of a key on the question. */
export interface KeyEffect {
  /** The question that was shown when the key was pressed, and its answer. */
  readonly answered?: { readonly approvalId: string; readonly answer: ApprovalAnswer };
  readonly prints: readonly Print[];
}

/** Shows one of the pending approvals and reads the answer. */
export class QuestionBox {
  #shown: { readonly approval: Approval; readonly state: ApprovalState } | undefined;
  /** The approvals that the user deferred or has just answered. */
  readonly #postponed = new Set<string>();
  readonly #numbers = new QuestionNumbers();
  /** The approval that was answered here and is not yet settled: the next one waits for it. */
  #sent: string | undefined;
  /** The letter of the last answer: pressed again at once, it does not start a message. */
  #repeated: { readonly text: string; readonly until: number } | undefined;
  /** The user has cancelled the run, so the withdrawn question needs no notice. */
  #isGivenUp = false;
  /** Input before this time may have been meant for a question that is no longer shown. */
  #ignoring: { readonly until: number; readonly to: 'answers' | 'text' } = { until: 0, to: 'answers' };

  get isOpen(): boolean {
    return this.#shown !== undefined;
  }

  /** Whether a letter is an answer rather than part of a text. */
  get isChoosing(): boolean {
    return this.#shown?.state.mode === 'choosing';
  }

  /** Shows the next question, unless the current one is still pending. Returns the prints for it. */
  show(open: readonly Approval[], now: number): readonly Print[] {
    this.#numbers.add(open);
    const isOpen = (id: string | undefined): boolean => open.some(({ approvalId }) => approvalId === id);
    if (this.#shown !== undefined) {
      if (isOpen(this.#shown.approval.approvalId)) {
        this.#renumber();
        return [];
      }
      // Another client has decided, or the approval was withdrawn: the current input was meant for it.
      const to = this.#shown.state.mode === 'choosing' ? 'answers' : 'text';
      this.#shown = undefined;
      if (!this.#isGivenUp) this.#ignoring = { until: now + SETTLE_MS, to };
      this.#isGivenUp = false;
    }
    if (isOpen(this.#sent)) return [];
    this.#sent = undefined;
    const next = open.find(({ approvalId }) => !this.#postponed.has(approvalId));
    if (next === undefined) return [];
    const number = this.#numbers.of(next.approvalId);
    this.#shown = { approval: next, state: newApproval(questionAbout(next, number), now) };
    return [{ type: 'question', approval: next, number }];
  }

  /** Updates the number of the shown question when more questions arrive. */
  #renumber(): void {
    if (this.#shown === undefined) return;
    const { approval, state } = this.#shown;
    const question = questionAbout(approval, this.#numbers.of(approval.approvalId));
    this.#shown = { approval, state: { ...state, question } };
  }

  /** Passes a key to the shown question. An answered question is closed. */
  press(key: Key, columns: number, now: number): KeyEffect {
    if (this.#shown === undefined) return { prints: [] };
    const { approval, state: before } = this.#shown;
    const { approvalId } = approval;
    const context = { width: approvalWidth(before, columns), now };
    const { state, answer, showsFullCall } = updateApproval(before, key, context);
    this.#shown = answer === undefined ? { approval, state } : undefined;
    if (showsFullCall === true)
      return { prints: [{ type: 'question', approval, number: this.#numbers.of(approvalId) }] };
    if (answer === undefined) return { prints: [] };
    this.#postponed.add(approvalId);
    if (answer.type !== 'later') {
      this.#sent = approvalId;
      this.#repeated = key.type === 'chord' ? undefined : { text: key.text, until: now + SETTLE_MS };
    }
    return { answered: { approvalId, answer }, prints: [] };
  }

  /**
   * Whether a key is ignored, because it may have been meant for a question that is no longer shown. The rest of a comment is
   * ignored until a pause. If only a letter could answer, the first key that is not an answer starts a message.
   */
  ignores(key: Key, now: number): boolean {
    const { text, until } = this.#repeated ?? { text: undefined, until: 0 };
    if (now < until && key.type !== 'chord' && key.text === text) return true;
    const isTyped = key.type !== 'chord' || key.chord === 'enter';
    const { to } = this.#ignoring;
    if (!isTyped || now >= this.#ignoring.until) return false;
    if (to === 'text') this.#ignoring = { until: now + SETTLE_MS, to };
    else if (key.type !== 'chord' && !ANSWER.test(key.text)) this.#ignoring = { until: 0, to };
    return now < this.#ignoring.until;
  }

  giveUp(): void {
    this.#isGivenUp = true;
  }

  /** Shows the question again after its answer was rejected. */
  reopen(approvalId: string): void {
    if (this.#sent === approvalId) this.#sent = undefined;
    this.#postponed.delete(approvalId);
  }

  reopenAll(): void {
    this.#postponed.clear();
  }

  draw(width: number, rows: number): LiveArea | undefined {
    return this.#shown && renderApproval(this.#shown.state, { width, rows });
  }
}

const ANSWER = /^[yanev]$/i;

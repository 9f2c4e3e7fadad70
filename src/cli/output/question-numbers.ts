/** A question's number among those that were open together. */
export interface QuestionNumber {
  readonly number: number;
  readonly of: number;
}

/** Numbers questions as they come up: `2 of 3`. The count starts again once none is open. */
export class QuestionNumbers {
  #ids: string[] = [];

  /** Takes in the questions that are open now, in their order. */
  see(open: readonly { readonly approvalId: string }[]): void {
    if (open.length === 0) this.#ids = [];
    for (const { approvalId } of open) if (!this.#ids.includes(approvalId)) this.#ids.push(approvalId);
  }

  of(approvalId: string): QuestionNumber {
    return { number: this.#ids.indexOf(approvalId) + 1, of: this.#ids.length };
  }
}

/** `1 of 3 · `, or nothing for a question that is the only one. */
export function numberText({ number, of }: QuestionNumber): string {
  return of > 1 ? `${number} of ${of} · ` : '';
}

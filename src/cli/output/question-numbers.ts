/** The number of an approval among those that were pending together. */
export interface QuestionNumber {
  readonly number: number;
  readonly of: number;
}

/** Numbers approvals in order of arrival: `2 of 3`. The count restarts when none is pending. */
export class QuestionNumbers {
  #ids: string[] = [];

  /** Adds the currently pending approvals, in order. */
  add(open: readonly { readonly approvalId: string }[]): void {
    if (open.length === 0) this.#ids = [];
    for (const { approvalId } of open) if (!this.#ids.includes(approvalId)) this.#ids.push(approvalId);
  }

  of(approvalId: string): QuestionNumber {
    return { number: this.#ids.indexOf(approvalId) + 1, of: this.#ids.length };
  }
}

/** `1 of 3 · `, or empty for a single approval. */
export function numberText({ number, of }: QuestionNumber): string {
  return of > 1 ? `${number} of ${of} · ` : '';
}

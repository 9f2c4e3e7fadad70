import type { Approval } from '../../../pod/index.ts';
import type { QuestionNumber } from '../../output/question-numbers.ts';
import type { Card, NoticeTone } from './cards.ts';

/** Something that goes into the scrollback and will not change any more, before it has a width. */
export type Print =
  /** What somebody said; `from` if it was not the person at this terminal. */
  | {
      readonly type: 'message';
      readonly text: string;
      readonly from: string | undefined;
      readonly images: number;
    }
  /** The next piece of the answer. */
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'text-end' }
  | { readonly type: 'card'; readonly card: Card }
  | { readonly type: 'question'; readonly approval: Approval; readonly number: QuestionNumber }
  /** Rows that belong together, cut to the width rather than broken. */
  | { readonly type: 'list'; readonly rows: readonly string[] }
  | { readonly type: 'notice'; readonly text: string; readonly tone: NoticeTone };

export function notice(text: string, tone: NoticeTone = 'quiet'): Print {
  return { type: 'notice', text, tone };
}

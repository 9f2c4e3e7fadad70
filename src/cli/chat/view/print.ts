import type { Approval } from '../../../pod/index.ts';
import type { QuestionNumber } from '../../output/question-numbers.ts';
import type { Card, NoticeTone } from './card.ts';

/** A part of the scrollback that no longer changes, before it is fitted to a width. */
export type Print =
  /** A message; `from` is set if it is not from the local user. */
  | {
      readonly type: 'message';
      readonly text: string;
      readonly from: string | undefined;
      readonly images: number;
    }
  /** The next part of the answer. */
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'text-end' }
  | { readonly type: 'card'; readonly card: Card }
  | { readonly type: 'question'; readonly approval: Approval; readonly number: QuestionNumber }
  /** Related rows, truncated to the width rather than wrapped. */
  | { readonly type: 'list'; readonly rows: readonly string[] }
  | { readonly type: 'notice'; readonly text: string; readonly tone: NoticeTone };

export function notice(text: string, tone: NoticeTone = 'quiet'): Print {
  return { type: 'notice', text, tone };
}

import type { PodHandle } from '../../../control/index.ts';
import type { PodCommand, Receipt } from '../../../pod/index.ts';
import type { NoticeTone } from '../view/cards.ts';
import type { PodLocation } from '../../hosting/index.ts';
import type { View } from '../view/view.ts';

/** What a command that a person types can use and do. */
export interface SlashCommandContext {
  readonly place: PodLocation;
  readonly view: View;
  readonly pod: PodHandle;
  readonly say: (text: string, tone?: NoticeTone) => void;
  readonly list: (rows: readonly string[]) => void;
  readonly handle: (command: PodCommand) => Promise<Receipt>;
  /** Goes over to another session. */
  readonly enter: (pod: PodHandle) => Promise<void>;
  readonly leave: () => void;
  /** Puts a text into the input, to be changed and sent again. */
  readonly suggest: (text: string) => void;
  /** Puts a text on the clipboard; false where that cannot be. */
  readonly copy: (text: string) => boolean;
  /** Brings back the questions that were put off. */
  readonly askAgain: () => void;
}

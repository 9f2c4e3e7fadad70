import type { PodHandle } from '../../../control/index.ts';
import type { PodCommand, Receipt } from '../../../pod/index.ts';
import type { CustomCommand } from '../../../setup/index.ts';
import type { NoticeTone } from '../view/card.ts';
import type { PodLocation } from '../../hosting/index.ts';
import type { PickItem } from '../screen/picker-box.ts';
import type { Print } from '../view/print.ts';
import type { View } from '../view/view.ts';

/** What a slash command can use. */
export interface SlashCommandContext {
  readonly location: PodLocation;
  readonly view: View;
  readonly pod: PodHandle;
  readonly notify: (text: string, tone?: NoticeTone) => void;
  readonly list: (rows: readonly string[]) => void;
  readonly print: (prints: readonly Print[]) => void;
  /** The commands that the user and the project store in files. */
  readonly customCommands: () => Promise<readonly CustomCommand[]>;
  /** Sends a prompt, as if the user had typed it. */
  readonly prompt: (text: string) => Promise<void>;
  readonly handle: (command: PodCommand) => Promise<Receipt>;
  /** Switches to another session. */
  readonly enter: (pod: PodHandle) => Promise<void>;
  readonly leave: () => void;
  /** Puts a text into the input, so that it can be edited and sent again. */
  readonly suggest: (text: string) => void;
  /** Copies a text to the clipboard; false if the terminal cannot do that. */
  readonly copy: (text: string) => boolean;
  /** Lets the user choose from a list; undefined if there is no terminal to choose on. */
  readonly pick: PickItem | undefined;
  /** Shows the deferred approvals again. */
  readonly askAgain: () => void;
}

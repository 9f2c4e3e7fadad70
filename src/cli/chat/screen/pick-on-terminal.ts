import { onAbort } from '../../../base/index.ts';
import {
  openTerminal,
  paintFor,
  type PickerItem,
  REAL_TIMER,
  Screen,
  staticLive,
} from '../../../terminal/index.ts';
import type { CommandContext } from '../../command.ts';
import { PickerBox } from './picker-box.ts';

/** Shows a list with a filter on the terminal before anything else runs; undefined if nothing was chosen. */
export async function pickOnTerminal(
  title: string,
  items: readonly PickerItem[],
  { stdin, stdout, env, signal }: CommandContext,
): Promise<string | undefined> {
  const box = new PickerBox();
  const screen = new Screen({
    output: stdout,
    paint: paintFor(env),
    timer: REAL_TIMER,
    draw: ({ columns, rows }) => box.draw(columns, rows) ?? staticLive([]),
  });
  const picked = box.pick(title, items);
  const terminal = openTerminal({
    input: stdin,
    output: stdout,
    program: process,
    timer: REAL_TIMER,
    onKey: (key) => {
      box.press(key, screen.size.columns);
      screen.refresh();
    },
    onResize: () => screen.resized(),
    onEnd: () => box.close(),
    onLeave: () => screen.pause(),
    onContinue: () => screen.resume(),
  });
  const forget = onAbort(signal, () => box.close());
  screen.refresh();
  try {
    return await picked;
  } finally {
    forget();
    terminal.close();
  }
}

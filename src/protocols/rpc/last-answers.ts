import { atMost } from './at-most.ts';
import type { RpcLink } from './link.ts';
import type { Outbox } from './outbox.ts';
import type { Seat } from './seat.ts';

/** How long a `bash` or `compact` may take after the end of the input before it is cancelled. */
const PATIENCE_MS = 2_000;
/** A command that never ends, such as one that an extension holds up, must not keep the program. */
const LONGEST_MS = 60_000;

export interface LastParts {
  readonly link: Pick<RpcLink, 'idle' | 'endLongCommand'>;
  readonly out: Pick<Outbox, 'isOverfull'>;
  readonly seat: Pick<Seat, 'dismissDialogs'>;
}

/** The input has ended: resolves when all commands in it have been answered, or the client takes no answers any more. */
export async function lastAnswers({ link, out, seat }: LastParts, ended: Promise<unknown>): Promise<void> {
  const idle = Promise.race([link.idle(), ended]);
  for (let waited = 0; waited < LONGEST_MS; waited += PATIENCE_MS) {
    if (await atMost(idle, PATIENCE_MS)) return;
    // A client that reads nothing must not keep the program.
    if (out.isOverfull) return;
    // An answer to a dialog would be input.
    seat.dismissDialogs();
    link.endLongCommand();
  }
}

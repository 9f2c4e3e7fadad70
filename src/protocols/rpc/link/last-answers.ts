import { settlesWithin, unlessAborted } from '../../../base/index.ts';
import type { RpcLink } from './link.ts';
import type { Outbox } from '../encode/outbox.ts';
import type { RpcSession } from '../sessions/rpc-session.ts';

/** How long a `bash` or `compact` may take after the end of the input before it is cancelled. */
const PATIENCE_MS = 2_000;
/** A command that never ends, for example because of an extension, must not keep the process alive. */
const LONGEST_MS = 60_000;

export interface LastParts {
  readonly link: Pick<RpcLink, 'idle' | 'endLongCommand'>;
  readonly out: Pick<Outbox, 'isOverfull'>;
  readonly session: Pick<RpcSession, 'dismissDialogs'>;
}

/** Resolves when all commands received before the end of input are answered, or the client no longer reads. */
export async function lastAnswers({ link, out, session }: LastParts, signal: AbortSignal): Promise<void> {
  const idle = unlessAborted(link.idle(), signal);
  for (let waited = 0; waited < LONGEST_MS; waited += PATIENCE_MS) {
    if (await settlesWithin(idle, PATIENCE_MS)) return;
    // A client that does not read must not keep the process alive.
    if (out.isOverfull) return;
    // The client can no longer answer dialogs.
    session.dismissDialogs();
    link.endLongCommand();
  }
}

import type { Writable } from 'node:stream';
import { onAbort, settlesWithin, unlessAborted } from '../../../base/index.ts';
import { offer } from '../commands/offer.ts';
import { FrameReader } from './frames.ts';
import { readyLine } from './greeting.ts';
import { lastAnswers } from './last-answers.ts';
import { RpcLink } from './link.ts';
import { Outbox } from '../encode/outbox.ts';
import type { RpcParts } from '../parts.ts';
import { RpcSession } from '../sessions/rpc-session.ts';

/** The input and output of a client. */
export interface RpcStreams {
  readonly input: AsyncIterable<Uint8Array>;
  readonly output: Writable;
}

/** The maximum number of unanswered commands. Beyond it, the link stops reading. */
const MOST_WAITING = 1_000;
/** How long extensions may take to finish when the link ends. */
const LAST_WORDS_MS = 300;

/** Serves one client until its input ends, the signal fires, or an extension requests the end. Errors at the start occur before `ready`. */
export async function serveRpc(
  { input, output }: RpcStreams,
  parts: RpcParts,
  signal: AbortSignal,
): Promise<void> {
  const out = new Outbox(output);
  const session = new RpcSession(parts, out);
  let isEndWanted = false;
  const over = new AbortController();
  const forget = onAbort(signal, () => over.abort());
  const link = new RpcLink(session, out, {
    echoErrors: parts.echoErrors,
    onRefused: parts.onRefused,
    onAnswered: () => {
      if (isEndWanted) over.abort();
    },
  });
  try {
    await session.move(await parts.first());
    out.write(readyLine(parts.version));
    await parts.extensions.start({
      ui: session.ui,
      failed: (extensionPath, event, error) =>
        session.send({ type: 'extension_error', extensionPath, event, error }),
      send: (content, whenBusy) => link.send(content, whenBusy),
      isIdle: () => !session.isBusy,
      abort: () => void session.handle({ type: 'cancel' }).catch(() => {}),
      shutdown: () => {
        isEndWanted = true;
      },
    });
    await read(input, { link, out, session }, over.signal);
  } finally {
    forget();
    await settlesWithin(parts.extensions.close(), LAST_WORDS_MS);
    // No output follows: a client that does not read must not delay the end.
    out.close();
    if (parts.survivesClient === true && session.hostTools.tools.length > 0)
      await offer(session, []).catch(() => {});
    await session.close();
  }
}

async function read(
  input: AsyncIterable<Uint8Array>,
  { link, out, session }: { readonly link: RpcLink; readonly out: Outbox; readonly session: RpcSession },
  signal: AbortSignal,
): Promise<void> {
  const frames = new FrameReader();
  const chunks = input[Symbol.asyncIterator]();
  for (;;) {
    const next = await unlessAborted(chunks.next(), signal);
    if (next === undefined) return;
    for (const frame of next.done ? frames.end() : frames.push(next.value)) link.receive(frame);
    if (next.done) return lastAnswers({ link, out, session }, signal);
    if (link.waiting > MOST_WAITING) await unlessAborted(link.idle(), signal);
    if (out.isOverfull) await unlessAborted(out.drained(), signal);
  }
}

import type { Writable } from 'node:stream';
import { onAbort, settlesWithin } from '../../../base/index.ts';
import { offer } from '../commands/offer.ts';
import { FrameReader } from './frames.ts';
import { readyLine } from './greeting.ts';
import { lastAnswers } from './last-answers.ts';
import { RpcLink } from './link.ts';
import { Outbox } from './outbox.ts';
import type { RpcParts } from '../parts.ts';
import { Seat } from '../sessions/rpc-session.ts';

/** Where a client's bytes come from and go to. */
export interface RpcStreams {
  readonly input: AsyncIterable<Uint8Array>;
  readonly output: Writable;
}

/** Commands that have not been answered: past this nothing more is read from a client. */
const MOST_WAITING = 1_000;
/** How long extensions may take to finish when the link ends. */
const LAST_WORDS_MS = 300;

/** Serves one client until its input ends, the signal fires, or an extension wants an end. What may fail at the start comes before `ready`. */
export async function serveRpc(
  { input, output }: RpcStreams,
  parts: RpcParts,
  signal: AbortSignal,
): Promise<void> {
  const out = new Outbox(output);
  const seat = new Seat(parts, out);
  let isEndWanted = false;
  const over = new AbortController();
  const forget = onAbort(signal, () => over.abort());
  const link = new RpcLink(seat, out, {
    echoErrors: parts.echoErrors,
    onRefused: parts.onRefused,
    onAnswered: () => {
      if (isEndWanted) over.abort();
    },
  });
  try {
    await seat.move(await parts.first());
    out.write(readyLine(parts.version));
    await parts.extensions.start({
      ui: seat.ui,
      failed: (extensionPath, event, error) =>
        seat.say({ type: 'extension_error', extensionPath, event, error }),
      send: (content, whenBusy) => link.send(content, whenBusy),
      isIdle: () => !seat.isBusy,
      abort: () => void seat.handle({ type: 'cancel' }).catch(() => {}),
      shutdown: () => {
        isEndWanted = true;
      },
    });
    await read(input, { link, out, seat }, over.signal);
  } finally {
    forget();
    await settlesWithin(parts.extensions.close(), LAST_WORDS_MS);
    // Nothing more is said: a client that does not read must not hold us up.
    out.close();
    if (parts.outlivesClient === true && seat.hostTools.tools.length > 0)
      await offer(seat, []).catch(() => {});
    await seat.close();
  }
}

async function read(
  input: AsyncIterable<Uint8Array>,
  { link, out, seat }: { readonly link: RpcLink; readonly out: Outbox; readonly seat: Seat },
  signal: AbortSignal,
): Promise<void> {
  const frames = new FrameReader();
  const chunks = input[Symbol.asyncIterator]();
  const ended = new Promise<undefined>((resolve) => {
    onAbort(signal, () => resolve(undefined));
  });
  for (;;) {
    const next = await Promise.race([chunks.next(), ended]);
    if (next === undefined) return;
    for (const frame of next.done ? frames.end() : frames.push(next.value)) link.receive(frame);
    if (next.done) return lastAnswers({ link, out, seat }, ended);
    if (link.waiting > MOST_WAITING) await Promise.race([link.idle(), ended]);
    if (out.isOverfull) await Promise.race([out.drained(), ended]);
  }
}

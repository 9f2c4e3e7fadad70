import { onAbort } from '../../../base/index.ts';
import { LineReader } from '../../../wire/index.ts';
import type { LinkStreams } from '../../relayed-door.ts';
import type { AcpParts } from '../parts.ts';
import { Connection } from './connection.ts';

/** The maximum number of unanswered requests. Beyond it, nothing is read. */
const MOST_UNANSWERED = 1_000;
const LONGEST_LINE = 32 * 1024 * 1024;

/** Serves one client until its input ends or the signal aborts. */
export async function serveAcp(
  { input, output }: LinkStreams,
  parts: AcpParts,
  signal: AbortSignal,
): Promise<void> {
  const connection = new Connection(output, parts);
  const ended = new Promise<undefined>((resolve) => {
    onAbort(signal, () => resolve(undefined));
  });
  // A line that is too long is answered like one that is not JSON, and the next line is read.
  const lines = new LineReader({ limit: { maxBytes: LONGEST_LINE }, onInvalid: () => NOT_JSON });
  const chunks = input[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await Promise.race([chunks.next(), ended]);
      if (next === undefined || next.done === true) return;
      for (const line of lines.push(next.value)) connection.peer.receive(line);
      await Promise.race([connection.peer.drained(), ended]);
      if (connection.peer.unanswered > MOST_UNANSWERED)
        await Promise.race([connection.peer.answered(MOST_UNANSWERED), ended]);
    }
  } finally {
    await connection.close();
  }
}

const NOT_JSON = '{';

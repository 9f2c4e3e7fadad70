import { unlessAborted } from '../../../base/index.ts';
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
  // A line that is too long is answered like one that is not JSON, and the next line is read.
  const lines = new LineReader({ limit: { maxBytes: LONGEST_LINE }, onInvalid: () => NOT_JSON });
  const chunks = input[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await unlessAborted(chunks.next(), signal);
      if (next === undefined || next.done === true) return;
      for (const line of lines.push(next.value)) connection.peer.receive(line);
      await unlessAborted(connection.peer.drained(), signal);
      if (connection.peer.unanswered > MOST_UNANSWERED)
        await unlessAborted(connection.peer.answered(MOST_UNANSWERED), signal);
    }
  } finally {
    await connection.close();
  }
}

const NOT_JSON = '{';

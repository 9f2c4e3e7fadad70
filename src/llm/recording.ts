import { type FrameReader, lineReader, sseReader } from '../wire/index.ts';
import { type AnswerDecoder, answerDecoder } from './decoder.ts';
import type { LlmEvent, Trace } from './event.ts';
import type { Provider } from './provider.ts';

/** Reads a recorded stream: server-sent events, or one JSON payload per line; one exchange after the other. */
export interface RecordingDecoder {
  push(bytes: Uint8Array): LlmEvent[];
  end(): LlmEvent[];
}

export function recordingDecoder(provider: Provider, onTrace?: (trace: Trace) => void): RecordingDecoder {
  let frames: FrameReader | undefined;
  let exchanges = 0;
  // Ids of calls without one come from the seed: the same recording always gives the same events.
  const nextDecoder = (): AnswerDecoder => answerDecoder(provider, `${++exchanges}`, onTrace);
  let decoder = nextDecoder();

  const take = (payload: string): LlmEvent[] => {
    if (!decoder.finished) return decoder.take(payload);
    // What follows a finished answer is the next one only if it begins like one, not a late ping or end marker.
    const next = nextDecoder();
    const events = next.take(payload);
    if (!events.some((event) => event.type === 'status' && event.status === 'started')) {
      exchanges--;
      return [];
    }
    decoder = next;
    return events;
  };

  return {
    push(bytes) {
      if (frames === undefined && bytes.length === 0) return [];
      frames ??= looksLikeSse(bytes) ? sseReader() : lineReader();
      return frames.push(bytes).flatMap(take);
    },
    end() {
      const events = frames === undefined ? [] : frames.end().flatMap(take);
      return [...events, ...decoder.end()];
    },
  };
}

/** A JSON payload begins with a brace or `[DONE]`; every line of server-sent events with a field name or a colon. */
function looksLikeSse(bytes: Uint8Array): boolean {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 64)).toString('utf8');
  return /^\uFEFF?\s*(?:data|event|id|retry)?:/.test(start);
}

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
  let start = Buffer.alloc(0);
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

  const begin = (): LlmEvent[] => {
    frames = looksLikeSse(start) ? sseReader() : lineReader();
    return frames.push(start).flatMap(take);
  };

  return {
    push(bytes) {
      if (frames !== undefined) return frames.push(bytes).flatMap(take);
      start = Buffer.concat([start, bytes]);
      return start.length < ENOUGH ? [] : begin();
    },
    end() {
      const events = frames === undefined ? begin() : [];
      return [...events, ...(frames?.end() ?? []).flatMap(take), ...decoder.end()];
    },
  };
}

/** A JSON payload begins with a brace or `[DONE]`; every line of server-sent events with a field name or a colon. */
function looksLikeSse(start: Buffer): boolean {
  return /^\uFEFF?\s*(?:data|event|id|retry)?:/.test(start.toString('utf8', 0, 64));
}

/** So many bytes tell the two apart. */
const ENOUGH = 64;

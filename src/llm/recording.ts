import { tryParse } from '../base/index.ts';
import { type FrameReader, lineReader, sseReader } from '../wire/index.ts';
import { type AnswerDecoder, answerDecoder } from './decoder.ts';
import type { LlmEvent, Trace } from './event.ts';
import type { Provider } from './provider.ts';

/**
 * Reads a recorded stream: server-sent events, one JSON payload per line, or a JSON document (one answer, or a list of
 * payloads); one exchange after the other.
 */
export interface RecordingDecoder {
  push(bytes: Uint8Array): LlmEvent[];
  end(): LlmEvent[];
}

export function recordingDecoder(provider: Provider, onTrace?: (trace: Trace) => void): RecordingDecoder {
  let frames: FrameReader | undefined;
  let start = Buffer.alloc(0);
  let exchanges = 0;
  let answerId: string | undefined;
  // Ids of calls without one come from the seed: the same recording always gives the same events.
  const nextDecoder = (): AnswerDecoder => answerDecoder(provider, `${++exchanges}`, onTrace);
  let decoder = nextDecoder();

  const take = (payload: string): LlmEvent[] => {
    const { finished, answer } = decoder;
    if (!finished && answer.stop === undefined) return heard(decoder.take(payload));
    if (begins(payload)) {
      const last = decoder.end();
      decoder = nextDecoder();
      return [...last, ...heard(decoder.take(payload))];
    }
    // What comes after the finish and is no beginning is its usage, a late ping, or an end marker.
    return decoder.take(payload);
  };

  /** Whether another answer begins here: one that says so, and is not the one that has just ended. */
  const begins = (payload: string): boolean => {
    const started = startIn(answerDecoder(provider, 'probe').take(payload));
    if (started === undefined) return false;
    return started.id === undefined
      ? provider.framing === 'lines' && decoder.finished
      : started.id !== answerId;
  };

  const heard = (events: LlmEvent[]): LlmEvent[] => {
    answerId = startIn(events)?.id ?? answerId;
    return events;
  };

  const begin = (): LlmEvent[] => {
    frames = readerFor(start);
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
      const rest = frames?.end().flatMap(take) ?? [];
      return [...events, ...rest, ...decoder.end(frames?.stray())];
    },
  };
}

function startIn(events: readonly LlmEvent[]): { readonly id?: string } | undefined {
  for (const event of events) if (event.type === 'status' && event.status === 'started') return event;
  return undefined;
}

/** So many bytes tell the kinds apart. */
const ENOUGH = 64;

/** Every line of server-sent events begins with a field name or a colon; a document that is laid out has no JSON lines. */
function readerFor(start: Buffer): FrameReader {
  const text = start.toString('utf8', 0, ENOUGH);
  if (/^\uFEFF?\s*(?:data|event|id|retry)?:/.test(text)) return sseReader();
  return /^\uFEFF?\s*(?:\[(?!DONE\])|\{\s*[\r\n])/.test(text) ? documentReader() : lineReader();
}

/** Hands out a JSON document when it is whole: its elements if it is a list. */
function documentReader(): FrameReader {
  const pieces: Uint8Array[] = [];
  return {
    push(bytes) {
      pieces.push(bytes);
      return [];
    },
    end() {
      const text = Buffer.concat(pieces).toString('utf8');
      const document = tryParse(text.replace(/^\uFEFF/, ''));
      if (document === undefined) return [text];
      return (Array.isArray(document) ? document : [document]).map((payload) => JSON.stringify(payload));
    },
    stray: () => '',
  };
}

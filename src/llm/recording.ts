import { tryParse } from '../base/index.ts';
import { eventStreamReader, type FrameReader, LineReader, sseReader } from '../wire/index.ts';
import { type AnswerDecoder, answerDecoder } from './decoder.ts';
import type { LlmEvent, Trace } from './event.ts';
import type { Provider } from './provider.ts';

/**
 * Decodes a recorded stream of one or more exchanges. The format is server-sent events, Amazon's event stream, one JSON
 * payload per line, or a JSON document (one answer, or a list of payloads).
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
  // A fixed seed generates the missing call ids, so that a recording always decodes to the same events.
  const nextDecoder = (): AnswerDecoder => answerDecoder(provider, `${++exchanges}`, onTrace);
  let decoder = nextDecoder();

  const decodePayload = (payload: string): LlmEvent[] => {
    const { finished, answer } = decoder;
    if (!finished && answer.stop === undefined) return trackAnswerId(decoder.pushPayload(payload));
    if (startsNewAnswer(payload)) {
      const last = decoder.end();
      decoder = nextDecoder();
      return [...last, ...trackAnswerId(decoder.pushPayload(payload))];
    }
    // A payload after the finish that does not start a new answer is usage, a late ping or an end marker.
    return decoder.pushPayload(payload);
  };

  /** Whether the payload starts another answer than the one that has just ended. */
  const startsNewAnswer = (payload: string): boolean => {
    const started = findStart(answerDecoder(provider, 'probe').pushPayload(payload));
    if (started === undefined) return false;
    return started.id === undefined
      ? provider.framing !== 'sse' && decoder.finished
      : started.id !== answerId;
  };

  const trackAnswerId = (events: LlmEvent[]): LlmEvent[] => {
    answerId = findStart(events)?.id ?? answerId;
    return events;
  };

  const startReading = (): LlmEvent[] => {
    frames = readerFor(start);
    return frames.push(start).flatMap(decodePayload);
  };

  return {
    push(bytes) {
      if (frames !== undefined) return frames.push(bytes).flatMap(decodePayload);
      start = Buffer.concat([start, bytes]);
      return start.length < DETECTION_BYTES ? [] : startReading();
    },
    end() {
      const events = frames === undefined ? startReading() : [];
      const rest = frames?.end().flatMap(decodePayload) ?? [];
      return [...events, ...rest, ...decoder.end(frames?.stray?.())];
    },
  };
}

function findStart(events: readonly LlmEvent[]): { readonly id?: string } | undefined {
  for (const event of events) if (event.type === 'status' && event.status === 'started') return event;
  return undefined;
}

/** The number of bytes needed to detect the format. */
const DETECTION_BYTES = 64;

/** Server-sent events start with a field name or a colon. A pretty-printed document has no JSON lines. */
function readerFor(start: Buffer): FrameReader {
  // A message of an event stream starts with its length, which is below 16 MB.
  if (start[0] === 0) return eventStreamReader();
  const text = start.toString('utf8', 0, DETECTION_BYTES);
  if (/^\uFEFF?\s*(?:data|event|id|retry)?:/.test(text)) return sseReader();
  return /^\uFEFF?\s*(?:\[(?!DONE\])|\{\s*[\r\n])/.test(text) ? documentReader() : new LineReader();
}

/** Buffers a JSON document and returns it at the end, or its elements if it is a list. */
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
  };
}

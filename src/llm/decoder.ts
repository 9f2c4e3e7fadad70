import { ellipsize, tryParse } from '../base/index.ts';
import { eventStreamReader, type FrameReader, LineReader, sseReader } from '../wire/index.ts';
import { type Answer, cancellationEvents, completionEvents, failureEvents } from './answer.ts';
import type { Failure, LlmEvent, Trace } from './event.ts';
import { errorFields, createFailure, failureFromBody } from './failure.ts';
import type { Framing, Provider } from './provider.ts';

/**
 * Decodes the bytes of one answer into balanced events, without network access: `connect` feeds it from a socket,
 * `polypod decode` from a file. It ignores input after it has finished.
 */
export interface AnswerDecoder {
  push(bytes: Uint8Array): LlmEvent[];
  /** Decodes one payload without its framing. */
  pushPayload(payload: string): LlmEvent[];
  /** Call at the end of the input: completes the answer if its finish marker came, else fails it as cut off. `stray` is text outside the framing. */
  end(stray?: string): LlmEvent[];
  cancel(): LlmEvent[];
  fail(failure: Failure): LlmEvent[];
  readonly finished: boolean;
  readonly answer: Answer;
}

export function answerDecoder(
  provider: Provider,
  seed: string,
  onTrace: (trace: Trace) => void = () => {},
): AnswerDecoder {
  const reader = provider.reader(seed);
  const frames = FRAME_READERS[provider.framing]();
  let finished = false;

  const finish = (events: readonly LlmEvent[], out: LlmEvent[]): void => {
    if (finished) return;
    finished = true;
    out.push(...events);
  };

  const read = (payload: string, out: LlmEvent[]): void => {
    const events = reader.readPayload(payload);
    if (events === undefined) {
      finish(failureEvents(reader.answer(), malformed(payload)), out);
      return;
    }
    for (const event of events) {
      if (event.type === 'trace') onTrace(event);
      else if (event.type === 'error') {
        const { type: _, ...failure } = event;
        finish(failureEvents(reader.answer(), failure), out);
        return;
      } else out.push(event);
    }
    const { done, stop } = reader.answer();
    if (done && stop !== undefined) finish(completionEvents(reader.answer(), stop), out);
  };

  const readAll = (payloads: readonly string[], out: LlmEvent[]): LlmEvent[] => {
    for (const payload of payloads) {
      if (finished) break;
      read(payload, out);
    }
    return out;
  };

  return {
    push: (bytes) => (finished ? [] : readAll(frames.push(bytes), [])),
    pushPayload: (payload) => readAll([payload], []),
    end(stray = frames.stray?.() ?? '') {
      const out: LlmEvent[] = [];
      // A last frame without a line end counts only if it is complete: otherwise the stream was cut off, not malformed.
      if (!finished) readAll(frames.end().filter(isComplete), out);
      const answer = reader.answer();
      finish(
        answer.stop
          ? completionEvents(answer, answer.stop)
          : failureEvents(answer, strayFailure(stray) ?? CUT_OFF),
        out,
      );
      return out;
    },
    cancel() {
      const out: LlmEvent[] = [];
      finish(cancellationEvents(reader.answer()), out);
      return out;
    },
    fail(failure) {
      const out: LlmEvent[] = [];
      finish(failureEvents(reader.answer(), failure), out);
      return out;
    },
    get finished() {
      return finished;
    },
    get answer() {
      return reader.answer();
    },
  };
}

const FRAME_READERS: Readonly<Record<Framing, () => FrameReader>> = {
  sse: () => sseReader(),
  lines: () => new LineReader(),
  'event-stream': eventStreamReader,
};

/** Some servers end a failed stream with an error outside the framing. */
function strayFailure(stray: string): Failure | undefined {
  const body = tryParse(stray);
  return errorFields(body).message === '' ? undefined : failureFromBody(body);
}

const CUT_OFF = createFailure({ kind: 'cut-off', message: 'the answer broke off before its end' });

function malformed(payload: string): Failure {
  return createFailure({
    kind: 'malformed',
    message: `the provider sent something that is not JSON: ${ellipsize(payload, 120)}`,
  });
}

function isComplete(payload: string): boolean {
  return payload.trim() === '[DONE]' || tryParse(payload) !== undefined;
}

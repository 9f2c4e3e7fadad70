import { tryParse } from '../base/index.ts';
import { lineReader, sseReader } from '../wire/index.ts';
import { type Answer, cancel, complete, fail } from './answer.ts';
import type { Failure, LlmEvent, Trace } from './event.ts';
import { errorIn, failureFrom, failureIn } from './failure.ts';
import type { Provider } from './provider.ts';

/**
 * One answer, bytes in, balanced events out. Pure of the network: `connect` feeds it from a socket, `polypod decode`
 * from a file. After it is finished it takes nothing more.
 */
export interface AnswerDecoder {
  push(bytes: Uint8Array): LlmEvent[];
  /** One payload whose framing has been removed already. */
  take(payload: string): LlmEvent[];
  /** The bytes are over: completed if the finish marker was there, else cut off. `stray` is what stood outside the framing. */
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
  const frames = provider.framing === 'sse' ? sseReader() : lineReader();
  let finished = false;

  const finish = (events: readonly LlmEvent[], out: LlmEvent[]): void => {
    if (finished) return;
    finished = true;
    out.push(...events);
  };

  const read = (payload: string, out: LlmEvent[]): void => {
    const events = reader.take(payload);
    if (events === undefined) {
      finish(fail(reader.answer(), malformed(payload)), out);
      return;
    }
    for (const event of events) {
      if (event.type === 'trace') onTrace(event);
      else if (event.type === 'error') {
        const { type: _, ...failure } = event;
        finish(fail(reader.answer(), failure), out);
        return;
      } else out.push(event);
    }
    const { done, stop } = reader.answer();
    if (done && stop !== undefined) finish(complete(reader.answer(), stop), out);
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
    take: (payload) => readAll([payload], []),
    end(stray = frames.stray()) {
      const out: LlmEvent[] = [];
      // A last frame without its line end counts only if it is whole: a cut through it is a cut, not bad JSON.
      if (!finished) readAll(frames.end().filter(isWhole), out);
      const answer = reader.answer();
      finish(answer.stop ? complete(answer, answer.stop) : fail(answer, lastWords(stray) ?? CUT_OFF), out);
      return out;
    },
    cancel() {
      const out: LlmEvent[] = [];
      finish(cancel(reader.answer()), out);
      return out;
    },
    fail(failure) {
      const out: LlmEvent[] = [];
      finish(fail(reader.answer(), failure), out);
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

/** Some servers end a broken stream with an error that is not part of the stream. */
function lastWords(stray: string): Failure | undefined {
  const body = tryParse(stray);
  return errorIn(body).message === '' ? undefined : failureIn(body);
}

const CUT_OFF = failureFrom({ kind: 'cut-off', message: 'the answer broke off before its end' });

function malformed(payload: string): Failure {
  const preview = payload.length > 120 ? `${payload.slice(0, 120)}…` : payload;
  return failureFrom({
    kind: 'malformed',
    message: `the provider sent something that is not JSON: ${preview}`,
  });
}

function isWhole(payload: string): boolean {
  return payload.trim() === '[DONE]' || tryParse(payload) !== undefined;
}

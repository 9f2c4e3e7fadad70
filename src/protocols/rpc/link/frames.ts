import { readMessage } from '../../../base/index.ts';
import { LineReader, MAX_LINE } from '../../../wire/index.ts';

/** One line of a client: the parsed value, or why it is malformed. */
export type Frame = { readonly value: unknown } | { readonly malformed: string };

/** Splits a client's bytes into frames. Every line that is not blank yields one frame; a line that is too long is skipped up to its end. */
export class FrameReader {
  readonly #lines: LineReader<Frame>;

  constructor(maxLine = MAX_LINE) {
    this.#lines = new LineReader<Frame>({
      limit: { maxCharacters: maxLine },
      onInvalid: ({ message }) => ({ malformed: message }),
    });
  }

  push(bytes: Uint8Array): readonly Frame[] {
    return this.#lines.push(bytes).map(frameOf);
  }

  /** Returns the last line if it has no line end. */
  end(): readonly Frame[] {
    return this.#lines.end().map(frameOf);
  }
}

function frameOf(line: string | Frame): Frame {
  if (typeof line !== 'string') return line;
  const read = readMessage(line);
  return 'value' in read ? { value: read.value } : { malformed: read.reason };
}

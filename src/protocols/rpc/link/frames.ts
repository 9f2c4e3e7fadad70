import { messageOf, readMessage } from '../../../base/index.ts';
import { lineReader, MAX_LINE } from '../../../wire/index.ts';

/** One line of a client: the parsed value, or why it is malformed. */
export type Frame = { readonly value: unknown } | { readonly malformed: string };

/** Splits a client's bytes into frames. Every line that is not blank yields one frame; a line that is too long is skipped up to its end. */
export class FrameReader {
  readonly #maxLine: number;
  #lines;
  #isSkipping = false;

  constructor(maxLine = MAX_LINE) {
    this.#maxLine = maxLine;
    this.#lines = lineReader(maxLine);
  }

  push(bytes: Uint8Array): readonly Frame[] {
    const from = this.#isSkipping ? bytes.indexOf(LF) + 1 : 0;
    if (this.#isSkipping && from === 0) return [];
    this.#isSkipping = false;
    const end = Math.max(bytes.lastIndexOf(LF) + 1, from);
    const frames = this.#lines.push(bytes.subarray(from, end)).flatMap(frameIn);
    try {
      // The chunk has no line end, but the line may be too long now.
      this.#lines.push(bytes.subarray(end));
    } catch (thrown) {
      this.#lines = lineReader(this.#maxLine);
      this.#isSkipping = true;
      return [...frames, { malformed: messageOf(thrown) }];
    }
    return frames;
  }

  /** Returns the last line if it has no line end. */
  end(): readonly Frame[] {
    return this.#isSkipping ? [] : this.#lines.end().flatMap(frameIn);
  }
}

const LF = 10;

function frameIn(line: string): readonly Frame[] {
  if (line.trim() === '') return [];
  const read = readMessage(line);
  return ['value' in read ? { value: read.value } : { malformed: read.reason }];
}

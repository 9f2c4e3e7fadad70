/** The number of pieces that are joined at a time. */
const PIECES_PER_JOIN = 256;

/**
 * Accumulates text from small pieces. Appending each piece to a string creates a long chain of string nodes, which the
 * garbage collector walks repeatedly; joining hundreds of pieces at a time keeps the chain short.
 */
export class TextBuffer {
  #text = '';
  #pieces: string[] = [];

  add(piece: string): void {
    if (this.#pieces.push(piece) < PIECES_PER_JOIN) return;
    this.#text += this.#pieces.join('');
    this.#pieces = [];
  }

  toString(): string {
    return this.#text + this.#pieces.join('');
  }
}

/** So many pieces are joined at a time. */
const PIECES = 256;

/**
 * Text that grows by small pieces. Adding each to a string makes a chain as long as there are pieces, which the garbage
 * collector walks again and again; joined by the hundred there is little to walk.
 */
export class GrowingText {
  #text = '';
  #pieces: string[] = [];

  add(piece: string): void {
    if (this.#pieces.push(piece) < PIECES) return;
    this.#text += this.#pieces.join('');
    this.#pieces = [];
  }

  toString(): string {
    return this.#text + this.#pieces.join('');
  }
}

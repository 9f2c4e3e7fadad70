import { sanitizeText } from './sanitize.ts';

/** Foreign text on its way out, piece by piece. */
export interface TextStream {
  push(text: string): string;
  /** What was held back to see what follows it. */
  end(): string;
}

/** On a terminal foreign text is made harmless; a pipe gets every byte as it came, for programs rely on that. */
export function textStreamTo(stream: { readonly isTTY?: boolean }): TextStream {
  return stream.isTTY === true ? new HarmlessStream() : AS_IT_IS;
}

const AS_IT_IS: TextStream = { push: (text) => text, end: () => '' };

class HarmlessStream implements TextStream {
  #held = '';

  push(text: string): string {
    const whole = this.#held + text;
    // Halves of a line end or of a character: the other half comes with the next piece.
    const [half = ''] = /[\r\uD800-\uDBFF]$/.exec(whole) ?? [];
    this.#held = half;
    return sanitizeText(whole.slice(0, whole.length - half.length));
  }

  end(): string {
    const rest = sanitizeText(this.#held);
    this.#held = '';
    return rest;
  }
}

import { sanitizeText } from './sanitize.ts';

/** Sanitizes untrusted text chunk by chunk. */
export interface TextStream {
  push(text: string): string;
  /** Returns what was held back until the next chunk. */
  end(): string;
}

/** Sanitizes untrusted text for terminals; a pipe gets every byte unchanged, because programs rely on that. */
export function textStreamFor(stream: { readonly isTTY?: boolean }): TextStream {
  return stream.isTTY === true ? new SanitizingStream() : UNCHANGED;
}

const UNCHANGED: TextStream = { push: (text) => text, end: () => '' };

class SanitizingStream implements TextStream {
  #held = '';

  push(text: string): string {
    const whole = this.#held + text;
    // Half a line end or character: the other half is in the next chunk.
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

import { controlKey, escapeSequence } from './escape-sequence.ts';
import { chord, type Key } from './key.ts';

const PASTE_END = '\u001b[201~';

/** Decodes keyboard bytes to keys, for any chunking. */
export class KeyDecoder {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  #pending = '';
  #pasted: string | undefined;

  push(bytes: Uint8Array): Key[] {
    this.#pending += this.#decoder.decode(bytes, { stream: true });
    const keys: Key[] = [];
    for (let previousLength = -1; this.#pending !== '' && this.#pending.length !== previousLength; ) {
      previousLength = this.#pending.length;
      const key = this.#next();
      if (key !== undefined) keys.push(key);
    }
    return keys;
  }

  /** Whether an escape character is pending: it is the Escape key if nothing follows soon. */
  get isWaiting(): boolean {
    return this.#pasted === undefined && this.#pending !== '';
  }

  /** Nothing followed: pending characters are separate keys. */
  flush(): Key[] {
    if (!this.isWaiting) return [];
    const [, ...rest] = this.#pending;
    this.#pending = '';
    const [after] = rest;
    if (after === undefined) return [chord('escape')];
    return rest.length === 1 ? [chord(`alt-${after}`)] : [];
  }

  #next(): Key | undefined {
    if (this.#pasted !== undefined) return this.#paste(this.#pasted);
    const first = this.#pending[0] ?? '';
    if (first === '\u001b') return this.#escape();
    if (CONTROL.test(first)) {
      this.#drop(1);
      return chord(controlKey(first));
    }
    const end = this.#pending.search(CONTROL);
    const text = end === -1 ? this.#pending : this.#pending.slice(0, end);
    this.#drop(text.length);
    return { type: 'text', text };
  }

  #escape(): Key | undefined {
    const found = escapeSequence(this.#pending);
    if (found === undefined) return undefined;
    this.#drop(found.length);
    if (found.key !== 'paste') return found.key;
    this.#pasted = '';
    return this.#pending === '' ? undefined : this.#next();
  }

  #paste(pasted: string): Key | undefined {
    const end = this.#pending.indexOf(PASTE_END);
    if (end === -1) {
      // The last bytes may be the start of the end marker.
      const safeLength = Math.max(0, this.#pending.length - PASTE_END.length + 1);
      this.#pasted = pasted + this.#pending.slice(0, safeLength);
      this.#drop(safeLength);
      return undefined;
    }
    const text = pasted + this.#pending.slice(0, end);
    this.#drop(end + PASTE_END.length);
    this.#pasted = undefined;
    return { type: 'paste', text };
  }

  #drop(length: number): void {
    this.#pending = this.#pending.slice(length);
  }
}

const CONTROL = /\p{Cc}/u;

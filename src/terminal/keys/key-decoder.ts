import { controlKey, escapeSequence } from './escape-sequence.ts';
import { chord, type Key } from './key.ts';

const PASTE_END = '\u001b[201~';

/** Bytes of a keyboard to keys, however the bytes are cut. */
export class KeyDecoder {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  #pending = '';
  #pasted: string | undefined;

  push(bytes: Uint8Array): Key[] {
    this.#pending += this.#decoder.decode(bytes, { stream: true });
    const keys: Key[] = [];
    for (let before = -1; this.#pending !== '' && this.#pending.length !== before; ) {
      before = this.#pending.length;
      const key = this.#next();
      if (key !== undefined) keys.push(key);
    }
    return keys;
  }

  /** Whether an escape character waits: it is the Escape key if nothing follows soon. */
  get isWaiting(): boolean {
    return this.#pasted === undefined && this.#pending !== '';
  }

  /** Nothing followed: what waits is keys of their own. */
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

  #paste(soFar: string): Key | undefined {
    const end = this.#pending.indexOf(PASTE_END);
    if (end === -1) {
      // The last bytes may be the start of the end mark.
      const sure = Math.max(0, this.#pending.length - PASTE_END.length + 1);
      this.#pasted = soFar + this.#pending.slice(0, sure);
      this.#drop(sure);
      return undefined;
    }
    const text = soFar + this.#pending.slice(0, end);
    this.#drop(end + PASTE_END.length);
    this.#pasted = undefined;
    return { type: 'paste', text };
  }

  #drop(length: number): void {
    this.#pending = this.#pending.slice(length);
  }
}

const CONTROL = /\p{Cc}/u;

/** Notices for the user, queued until a listener is set. */
export class NoticeBoard {
  readonly #pending: string[];
  #listener: ((text: string) => void) | undefined;

  constructor(texts: readonly string[] = []) {
    this.#pending = [...texts];
  }

  post(text: string): void {
    if (this.#listener === undefined) this.#pending.push(text);
    else this.#listener(text);
  }

  listen(listener: (text: string) => void): void {
    this.#listener = listener;
    for (const text of this.#pending.splice(0)) listener(text);
  }
}

/** Notices for the user, queued until a listener is set. */
export class NoticeBoard {
  readonly #kept: string[];
  #hear: ((text: string) => void) | undefined;

  constructor(texts: readonly string[] = []) {
    this.#kept = [...texts];
  }

  post(text: string): void {
    if (this.#hear === undefined) this.#kept.push(text);
    else this.#hear(text);
  }

  listen(hear: (text: string) => void): void {
    this.#hear = hear;
    for (const text of this.#kept.splice(0)) hear(text);
  }
}

import { asPolypodError, uuidv7 } from '../../base/index.ts';
import { type ControlLink, type PodHandle, remotePod } from '../../control/index.ts';
import type { Caller } from '../../pod/index.ts';

/** Calls to a process that can be temporarily unreachable: a call that failed for that reason is repeated on a new connection. */
export class ControlCalls {
  readonly #reopen: () => Promise<ControlLink | undefined>;
  #link: ControlLink;
  #isClosed = false;

  constructor(link: ControlLink, reopen: () => Promise<ControlLink | undefined>) {
    this.#link = link;
    this.#reopen = reopen;
  }

  /** For calls that must not be repeated. */
  get link(): ControlLink {
    return this.#link;
  }

  async call(...question: Parameters<ControlLink['call']>): ReturnType<ControlLink['call']> {
    return this.again((link) => link.call(...question));
  }

  /** Retries on a new connection if the old one is broken, so the call must be idempotent. */
  async again<T>(ask: (link: ControlLink) => Promise<T>): Promise<T> {
    try {
      return await ask(this.#link);
    } catch (thrown) {
      if (asPolypodError(thrown).code !== 'unreachable' || !(await this.isUp())) throw thrown;
      return ask(this.#link);
    }
  }

  async isUp(): Promise<boolean> {
    if (this.#isClosed) return false;
    const link = await this.#reopen().catch(() => undefined);
    if (link === undefined) return false;
    this.#link.close();
    this.#link = link;
    // Closed meanwhile: an open connection would keep the process alive.
    if (this.#isClosed) link.close();
    return !this.#isClosed;
  }

  close(): void {
    this.#isClosed = true;
    this.#link.close();
  }
}

/** A pod of that process. Every command has an idempotency key, so a repeated command is executed once. */
export function reconnectingPod(id: string, calls: ControlCalls): PodHandle {
  return {
    id,
    handle: (command, caller?: Caller) => {
      const keyed = { by: 'program', door: 'control', key: uuidv7(), ...caller };
      return calls.again(async (link) => (await remotePod(id, link)).handle(command, keyed));
    },
    briefing: () => calls.again(async (link) => (await remotePod(id, link)).briefing()),
    rewindPoints: () => calls.again(async (link) => (await remotePod(id, link)).rewindPoints()),
    previewRewind: (entryId) =>
      calls.again(async (link) => (await remotePod(id, link)).previewRewind(entryId)),
    async *watch(options) {
      yield* (await remotePod(id, calls.link)).watch(options);
    },
  };
}

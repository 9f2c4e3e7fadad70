import { isObject, objectOf } from '../../../base/index.ts';
import type { ClientAnswer, ClientPage, ClientQuestion } from '../../../pod/index.ts';
import type { Peer } from '../peer.ts';

/** How long a question waits for the user. */
const LIMIT_MS = 5 * 60_000;

/** Shows the questions of tools as forms in the editor, and asks to open pages. */
export class Questions {
  readonly #peer: Peer;
  readonly #sessionId: string;
  readonly #open = new Set<AbortController>();

  constructor(peer: Peer, sessionId: string) {
    this.#peer = peer;
    this.#sessionId = sessionId;
  }

  ask({ message, schema }: ClientQuestion, signal: AbortSignal): Promise<ClientAnswer> {
    return this.#request({ mode: 'form', message, requestedSchema: schema }, signal);
  }

  async openPage({ message, url, id }: ClientPage, signal: AbortSignal): Promise<ClientAnswer['action']> {
    return (await this.#request({ mode: 'url', message, url, elicitationId: id }, signal)).action;
  }

  pageDone(id: string): void {
    this.#peer.notify('elicitation/complete', { elicitationId: id });
  }

  async #request(question: object, signal: AbortSignal): Promise<ClientAnswer> {
    const withdrawn = new AbortController();
    this.#open.add(withdrawn);
    const until = AbortSignal.any([signal, withdrawn.signal, AbortSignal.timeout(LIMIT_MS)]);
    const params = { sessionId: this.#sessionId, ...question };
    try {
      const { action, content } = objectOf(await this.#peer.request('elicitation/create', params, until));
      if (action === 'accept') return { action, content: isObject(content) ? content : {} };
      return { action: action === 'decline' ? action : 'cancel' };
    } catch {
      // Withdrawn, disconnected, or the editor cannot show it.
      return { action: 'cancel' };
    } finally {
      this.#open.delete(withdrawn);
    }
  }

  /** Withdraws all questions: the run that asked them has ended, or the session is closed. */
  close(): void {
    for (const withdrawn of this.#open) withdrawn.abort();
  }
}

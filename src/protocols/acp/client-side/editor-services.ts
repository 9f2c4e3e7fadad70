import type { ClientPage, ClientQuestion, TerminalCommand } from '../../../pod/index.ts';
import type { Peer } from '../peer.ts';
import type { AcpParts } from '../parts.ts';
import type { ClientCapabilities, SessionUpdate } from '../wire.ts';
import { clientFiles } from './files.ts';
import { Questions } from './questions.ts';
import { Terminals } from './terminals.ts';

export interface EditorServicesParts {
  readonly peer: Peer;
  readonly sessionId: string;
  readonly capabilities: ClientCapabilities;
  readonly parts: Pick<AcpParts, 'host' | 'terminals'>;
  readonly warn: (message: string) => void;
}

/** What the editor does for the tools of a session, as far as it declared it. */
export class EditorServices {
  readonly #questions: Questions;
  readonly #terminals: Terminals;
  readonly #withdraw: () => void;

  constructor({ peer, sessionId, capabilities, parts, warn }: EditorServicesParts) {
    const questions = (this.#questions = new Questions(peer, sessionId));
    const terminals = (this.#terminals = new Terminals(peer, sessionId));
    this.#withdraw = parts.host.clientServices.offer(sessionId, {
      files: clientFiles({ peer, sessionId, capabilities }),
      warn,
      ...(capabilities.terminal &&
        parts.terminals && {
          runInTerminal: (command: TerminalCommand, signal: AbortSignal) => terminals.run(command, signal),
        }),
      ...(capabilities.elicitation && {
        ask: (question: ClientQuestion, signal: AbortSignal) => questions.ask(question, signal),
      }),
      ...(capabilities.urlElicitation && {
        openPage: (page: ClientPage, signal: AbortSignal) => questions.openPage(page, signal),
        pageDone: (id: string) => questions.pageDone(id),
      }),
    });
  }

  /** Shows the terminal of a call instead of its output. */
  show(update: SessionUpdate): SessionUpdate {
    return this.#terminals.show(update);
  }

  runEnded(): void {
    this.#questions.close();
    this.#terminals.forget();
  }

  close(): void {
    this.#withdraw();
    this.#questions.close();
  }
}

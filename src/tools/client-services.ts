import type { JsonObject } from '../base/index.ts';

/** What a client answered to a request for a file. */
export type ClientRead =
  | { readonly type: 'text'; readonly text: string }
  /** The client has no such file, or has disconnected: the file on disk is the current one. */
  | { readonly type: 'absent' }
  /** The client answered with an error. */
  | { readonly type: 'failed'; readonly reason: string }
  /** The client did not answer in time. */
  | { readonly type: 'unanswered'; readonly reason: string };

export type ClientWrite =
  | { readonly type: 'written' }
  /** The client has no such file and cannot create it: it is not one of its project. */
  | { readonly type: 'absent' }
  | { readonly type: 'failed'; readonly reason: string };

/** The files of a client, such as an editor with unsaved changes. Paths are absolute and without links. */
export interface ClientFiles {
  /** Reads a text file. Ends in a limited time; rejects only if the signal aborts. */
  readonly read?: (path: string, signal: AbortSignal) => Promise<ClientRead>;
  /** Writes a text file. Ends in a limited time; rejects only if the signal aborts. */
  readonly write?: (path: string, content: string, signal: AbortSignal) => Promise<ClientWrite>;
}

/** A form that a tool asks the user to fill in. */
export interface ClientQuestion {
  readonly message: string;
  /** JSON Schema of the values: an object with properties of simple types. */
  readonly schema: JsonObject;
}

/** A page that a tool asks the user to open, such as to sign in. */
export interface ClientPage {
  readonly message: string;
  readonly url: string;
  /** Identifies the request in `pageDone`. */
  readonly id: string;
}

export type ClientAnswer =
  | { readonly action: 'accept'; readonly content: JsonObject }
  /** `cancel`: nobody answered. */
  | { readonly action: 'decline' | 'cancel' };

/** A command for a terminal of a client. */
export interface TerminalCommand {
  readonly callId: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly timeoutMs: number;
  /** Of more output only the end is kept. */
  readonly maxOutputBytes: number;
  readonly onStart: () => void;
}

export type TerminalEnd =
  /** The terminal was not created: nothing has run. */
  | { readonly type: 'refused' }
  /** It is unknown whether the command has ended. */
  | { readonly type: 'lost'; readonly reason: string }
  | {
      readonly type: 'ended';
      readonly by: 'itself' | 'timeout' | 'cancel';
      readonly exitCode: number | null;
      readonly signal: string | null;
      readonly output: string;
      readonly isTruncated: boolean;
    };

/** Runs a command in a terminal of the client. Ends soon after the time limit or the signal, and never rejects. */
export type RunInTerminal = (command: TerminalCommand, signal: AbortSignal) => Promise<TerminalEnd>;

/** What a client does for the tools of a session while it is connected. */
export interface ClientServices {
  readonly files?: ClientFiles | undefined;
  readonly runInTerminal?: RunInTerminal | undefined;
  /** Shows a form to the user. Ends in a limited time, and never rejects. */
  readonly ask?: ((question: ClientQuestion, signal: AbortSignal) => Promise<ClientAnswer>) | undefined;
  /**
   * Asks the user to open a page; `accept`: the user agreed, which does not mean that the page was completed. Ends in a limited
   * time, and never rejects.
   */
  readonly openPage?:
    | ((page: ClientPage, signal: AbortSignal) => Promise<ClientAnswer['action']>)
    | undefined;
  /** What a page was opened for is complete. */
  readonly pageDone?: ((id: string) => void) | undefined;
  /** Shows a warning to the user. */
  readonly warn?: ((message: string) => void) | undefined;
}

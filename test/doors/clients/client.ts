import type { PodEvent } from '../../../src/pod/index.ts';
import type { Daemon } from '../daemon.ts';
import type { JsonLine } from '../lines.ts';
import type { DoorLine } from '../door-line.ts';

/** A door and one transport of its protocol. */
export type WireName =
  | 'pod'
  | 'pod plain'
  | 'rpc'
  | 'rpc stdio'
  | 'hld'
  | 'acp'
  | 'acp stdio'
  | 'tasks SSE'
  | 'tasks WebSocket';

/** The outcome of an action. `unknown`: the connection broke before the response. */
export type Outcome = 'accepted' | 'refused' | 'unknown';

/** What a client received without a gap: over one connection, or over several if the protocol resumes by number. */
export interface LineSequence {
  /**
   * It receives everything after one of these numbers. Without a cursor in the protocol, the exact number is unknown; `highest`
   * is known once the daemon has responded.
   */
  readonly from: { readonly lowest: number; highest: number };
  readonly lines: DoorLine[];
  /** Approval requests outside the numbered lines, in order, and how many were cancelled. */
  readonly approvalRequests?: string[];
  withdrawn?: number;
  /** The prompts that the client sent over this connection and shows itself, if its door does not send them to it. */
  readonly own?: ReadonlySet<string>;
  /** The initial state of the session, if the protocol sends it. */
  readonly snapshot?: JsonLine;
}

/** A prompt, and the behaviour of the simulated model. */
export interface Prompt {
  readonly text: string;
  /** Whether the model calls tools: a task without tools is another kind of task. */
  readonly hasTools: boolean;
  /** With a key the prompt may be sent again after a missing response: it takes effect once. */
  readonly key?: string;
}

/** A client of one door at one session. Actions that its protocol does not support are undefined. */
export interface DoorClient {
  readonly wire: WireName;
  readonly sequences: readonly LineSequence[];
  /** Whether it may send a prompt again with its key. */
  readonly repeats?: boolean;
  /** The daemon's protocol violations. */
  readonly problems: readonly string[];
  readonly isConnected: boolean;
  /** How often it has connected. */
  readonly connections: number;
  /** Connects or reconnects, after the last received line if the protocol resumes by number. */
  connect(): Promise<void>;
  /** Disconnects without a message. */
  cut(): void;
  pauseReading(): void;
  resumeReading(): void;
  /** Sends an invalid message; resolves when it was rejected and the connection still works. */
  sendMalformed(choice: number): Promise<Outcome>;
  readonly prompt?: (prompt: Prompt) => Promise<Outcome>;
  /** A prompt that is queued while a run is active. */
  readonly queue?: (prompt: Prompt) => Promise<Outcome>;
  readonly steer?: (text: string) => Promise<Outcome>;
  readonly cancel?: () => Promise<Outcome>;
  /** Sends a prompt and cancels it before it is answered; which request cancels it depends on the choice. */
  readonly promptAndCancel?: (prompt: Prompt, choice: number) => Promise<Outcome>;
  /** Whether it has cancelled a prompt, so that the prompt may be removed from the queue. */
  readonly hasCancelled?: (prompt: Prompt) => boolean;
  /** Decides the oldest known approval. */
  readonly decide?: ((decision: 'approve' | 'deny') => Promise<Outcome>) | undefined;
  /** Work that the protocol reports as unfinished. */
  readonly unfinished?: () => Promise<readonly string[]>;
  /** Compares other responses of the protocol with the log. */
  readonly further?: (log: readonly PodEvent[]) => Promise<readonly string[]>;
  /** The conversation as the protocol returns it, for comparison with the log. */
  readonly conversation?: () => Promise<readonly string[]>;
}

export interface ClientOptions {
  readonly daemon: Daemon;
  readonly pod: string;
  /** Whether to receive everything from the first event on, if the protocol supports it. */
  readonly fromStart: boolean;
  readonly name: string;
}

/** Runs an action. If the connection breaks, its outcome is unknown. */
export async function outcomeOf(action: () => Promise<boolean>): Promise<Outcome> {
  try {
    return (await action()) ? 'accepted' : 'refused';
  } catch (thrown) {
    if (thrown instanceof Error && /no answer/.test(thrown.message)) throw thrown;
    return 'unknown';
  }
}

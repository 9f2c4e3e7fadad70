import type { PodEvent } from '../../../src/pod/index.ts';
import type { Daemon } from '../daemon.ts';
import type { JsonLine } from '../lines.ts';
import type { Told } from '../told.ts';

/** A door and one way to speak its protocol. */
export type WireName = 'pod' | 'pod plain' | 'rpc' | 'rpc stdio' | 'hld' | 'tasks SSE' | 'tasks WebSocket';

/** What became of an action. `unknown`: the connection broke before the answer came. */
export type Outcome = 'accepted' | 'refused' | 'unknown';

/** What a client heard without a gap: over one connection, or over several where the protocol resumes by number. */
export interface Stretch {
  /**
   * It hears everything after one of these numbers. Where a protocol has no cursor, the exact one is not known; `highest` is
   * known once the daemon has answered.
   */
  readonly from: { readonly lowest: number; highest: number };
  readonly told: Told[];
  /** Questions that the client was asked beside the numbered lines, in order, and how many were taken back. */
  readonly asked?: string[];
  withdrawn?: number;
  /** The state of the session as the protocol gave it at the beginning, if it did. */
  readonly snapshot?: JsonLine;
}

/** A prompt, and what the simulated model is to do with it. */
export interface Prompt {
  readonly text: string;
  /** Whether the model calls tools: a task without tools is another kind of task. */
  readonly hasTools: boolean;
  /** With a key the prompt may be sent again when no answer came: it has its effect once. */
  readonly key?: string;
}

/** A client of one door at one session. Actions that its protocol has no word for are undefined. */
export interface DoorClient {
  readonly wire: WireName;
  readonly stretches: readonly Stretch[];
  /** Whether it may send a prompt again under its key. */
  readonly repeats?: boolean;
  /** What the daemon did against the protocol, in words. */
  readonly problems: readonly string[];
  readonly isConnected: boolean;
  /** How often it has connected. */
  readonly connections: number;
  /** Connects, or connects again: where the protocol resumes by number, after the last line that came. */
  connect(): Promise<void>;
  /** Leaves without a word. */
  cut(): void;
  pauseReading(): void;
  resumeReading(): void;
  /** Sends something that is not of the protocol; resolves when it was refused and the connection still works. */
  sendMalformed(choice: number): Promise<Outcome>;
  readonly prompt?: (prompt: Prompt) => Promise<Outcome>;
  /** A prompt that waits where a run is under way. */
  readonly queue?: (prompt: Prompt) => Promise<Outcome>;
  readonly steer?: (text: string) => Promise<Outcome>;
  readonly cancel?: () => Promise<Outcome>;
  /** Decides the oldest question that it knows of. */
  readonly decide?: ((decision: 'approve' | 'deny') => Promise<Outcome>) | undefined;
  /** Work that the protocol calls unfinished. */
  readonly unfinished?: () => Promise<readonly string[]>;
  /** What else the protocol tells of a log when it is asked, against the log. */
  readonly further?: (log: readonly PodEvent[]) => Promise<readonly string[]>;
  /** The conversation as the protocol shows it when asked; compared with the log. */
  readonly conversation?: () => Promise<readonly string[]>;
}

export interface ClientOptions {
  readonly daemon: Daemon;
  readonly pod: string;
  /** Whether it wants all there is from the first event on, where the protocol can give it. */
  readonly fromStart: boolean;
  readonly name: string;
}

/** Runs an action; a connection that breaks meanwhile leaves its outcome open. */
export async function outcomeOf(act: () => Promise<boolean>): Promise<Outcome> {
  try {
    return (await act()) ? 'accepted' : 'refused';
  } catch (thrown) {
    if (thrown instanceof Error && /no answer/.test(thrown.message)) throw thrown;
    return 'unknown';
  }
}

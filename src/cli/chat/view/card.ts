export type CardStatus = 'preview' | 'waiting' | 'running' | 'done' | 'failed' | 'denied' | 'cancelled';

/** One tool call, as shown to a user. */
export interface ToolCard {
  readonly type: 'tool';
  readonly title: string;
  readonly status: CardStatus;
  readonly durationMs: number | undefined;
  /** The result in one line. */
  readonly summary: string;
  /** A unified diff, for edits. */
  readonly diff: string;
  /** The output of a command. */
  readonly output: string;
}

export interface ThoughtCard {
  readonly type: 'thought';
  readonly text: string;
  readonly durationMs: number | undefined;
}

export type Card = ToolCard | ThoughtCard;

export type NoticeTone = 'quiet' | 'warning' | 'error';

import type { PodHandle } from '../../control/index.ts';
import type { Account } from '../../llm/index.ts';
import type { ModelChoice, Origin } from '../../pod/index.ts';
import type { Row } from '../../pod/sessions.ts';
import type { NoticeBoard } from './notice-board.ts';

/** Where the pods of a command live: this process, the daemon, or another process that lets one be reached. */
export interface PodLocation {
  /** As whom others see what is done here. */
  readonly me: Origin;
  /** What runs go by when nobody has set a mode, if it is known. */
  readonly usualMode: string | undefined;
  /** Whether what runs goes on when this process ends. */
  readonly outlives: boolean;
  /** For how long it is tried to come back, and what to say of a session when that was in vain. */
  readonly ifLost: { readonly patienceMs: number; readonly ending: (id: string) => string };
  /** What a person should know, at the start and later. */
  readonly notices: NoticeBoard;
  /** Those that changed last first. */
  readonly sessions: () => Promise<readonly Row[]>;
  /** A session by its id, the beginning of it, or its name. */
  readonly open: (word: string) => Promise<PodHandle>;
  readonly create: () => Promise<PodHandle>;
  /** A new session with the conversation of another so far. */
  readonly fork: (id: string) => Promise<PodHandle>;
  /** Takes away a session that was never used. */
  readonly discard: (id: string) => Promise<void>;
  /** The earlier prompts of a conversation, the oldest first. */
  readonly prompts: (id: string) => Promise<readonly EarlierPrompt[]>;
  /** References to known models, for completion. */
  readonly models: () => Promise<readonly string[]>;
  /** The model that a word means; refuses one that cannot be had. */
  readonly model: (reference: string) => Promise<ModelChoice>;
  /** By whom a model is served, for a sentence on what went wrong with it. */
  readonly accountOf: (model: ModelChoice) => Promise<Pick<Account, 'name' | 'wire' | 'baseUrl'>>;
  /** Whether the pods can be reached now. */
  readonly isUp: () => Promise<boolean>;
  readonly close: () => Promise<void>;
}

/** A prompt that one can go back to: as if it had not been said. */
export interface EarlierPrompt {
  readonly text: string;
  /** The entry before it, or `root`. */
  readonly before: string;
}

import type { PodHandle } from '../../control/index.ts';
import type { Account } from '../../llm/index.ts';
import type { ModelChoice, Origin } from '../../pod/index.ts';
import type { Row } from '../../pod/sessions.ts';
import type { CustomCommand, ListedModel } from '../../setup/index.ts';
import type { NoticeBoard } from './notice-board.ts';

/** Where the pods of a command are hosted: in this process, the daemon, or another process that accepts connections. */
export interface PodLocation {
  /** The origin of commands from here, as other clients see it. */
  readonly me: Origin;
  /** The default permission mode of runs, if it is known. */
  readonly defaultMode: string | undefined;
  /** Whether runs continue after this process ends. */
  readonly survivesExit: boolean;
  /** How long to try to reconnect, and the message for a session if that fails. */
  readonly ifLost: { readonly giveUpAfterMs: number; readonly ending: (id: string) => string };
  /** Notices for the user, at the start and later. */
  readonly notices: NoticeBoard;
  /** All sessions, most recently changed first. */
  readonly sessions: () => Promise<readonly Row[]>;
  /** Opens a session by id, part of the id, or name. */
  readonly open: (word: string) => Promise<PodHandle>;
  readonly create: () => Promise<PodHandle>;
  /** Creates a session with a copy of another conversation. */
  readonly fork: (id: string) => Promise<PodHandle>;
  /** Removes a session that was never used. */
  readonly discard: (id: string) => Promise<void>;
  /** The earlier prompts of a conversation, oldest first. */
  readonly prompts: (id: string) => Promise<readonly EarlierPrompt[]>;
  /** The prompts that the user and the project of a directory store as commands. */
  readonly customCommands: (cwd: string) => Promise<readonly CustomCommand[]>;
  /** The known models, and why some of them cannot be used. */
  readonly models: () => Promise<readonly ListedModel[]>;
  /** Resolves a model reference. Rejects an unavailable model. */
  readonly model: (reference: string) => Promise<ModelChoice>;
  /** The account that serves a model, for error messages. */
  readonly accountOf: (model: ModelChoice) => Promise<Pick<Account, 'name' | 'api' | 'baseUrl'>>;
  /** Whether the pods are currently reachable. */
  readonly isUp: () => Promise<boolean>;
  readonly close: () => Promise<void>;
}

/** A prompt to branch from: the branch starts before it. */
export interface EarlierPrompt {
  readonly text: string;
  /** The id of the entry before it, or `root`. */
  readonly before: string;
}

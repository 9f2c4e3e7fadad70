import type { OfferedModel } from '../pod/index.ts';
import type { StreamRule } from '../reminders/index.ts';

/** The models and tools for clients, and the settings of all agents. Each call reads the current configuration. */
export interface Inventory {
  /** The models that can be used now, including the default model. */
  readonly models: () => Promise<readonly OfferedModel[]>;
  /** Resolves a reference, or the default model, with notices for the user. Throws an error with the next step. */
  readonly model: (
    reference?: string,
  ) => Promise<{ readonly model: OfferedModel; readonly notices: readonly string[] }>;
  readonly refuseUnknownProvider: (name: string) => Promise<void>;
  /** The built-in tools of agents. */
  readonly toolNames: () => Promise<readonly string[]>;
  /** The prompts that the user and the project of a directory store in files. */
  readonly promptFiles: (cwd: string) => PromptFiles;
  /** Values that models must not write. */
  readonly streamRules: () => readonly StreamRule[];
  /** Finds a session by its id, the beginning or end of it, or its name. */
  readonly session: (word: string) => Promise<{ readonly id: string }>;
}

/** Prompts that the user and the project store in files. */
export interface PromptFiles {
  readonly list: () => Promise<readonly PromptFile[]>;
  /** The prompt for `/NAME arguments`; undefined if there is no such file. */
  readonly expand: (text: string) => Promise<string | undefined>;
}

export interface PromptFile {
  readonly name: string;
  readonly description: string;
  readonly of: 'user' | 'project';
  readonly file: string;
}

import type { OfferedModel } from '../../pod/index.ts';
import type { StreamRule } from '../../reminders/index.ts';

/** What the RPC door requires beyond the shared context. */
export interface RpcNeeds {
  readonly inventory: Inventory;
}

/** The models and tools for clients, and the settings of all agents. Each call reads the current configuration. */
export interface Inventory {
  /** The models that can be used now, including the default model. */
  readonly models: () => Promise<readonly OfferedModel[]>;
  /** Resolves a reference, or the default model, with notices for the user. Throws an error with the next step. */
  readonly model: (
    reference?: string,
  ) => Promise<{ readonly model: OfferedModel; readonly notices: readonly string[] }>;
  readonly refuseUnknownProvider: (name: string) => void;
  /** The built-in tools of agents. */
  readonly toolNames: () => Promise<readonly string[]>;
  /** Values that models must not write. */
  readonly streamRules: () => readonly StreamRule[];
  /** Finds a session by its id, the beginning or end of it, or its name. */
  readonly session: (word: string) => Promise<{ readonly id: string }>;
}
